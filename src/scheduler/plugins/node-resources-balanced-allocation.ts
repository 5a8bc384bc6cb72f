import { LruMap } from '#/base/lru-map.ts'
import { duplicate, formatFieldErrors, invalid } from '#/api/field-error.ts'
import { scoreMax, type PluginFactory } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { NodeValues } from './node-values.ts'
import { isScoredByDefault, amountOf } from './node-resources-fit/strategy.ts'

const resourcesUsual = ['cpu', 'memory']

interface Asked {
  readonly name: string
  readonly amount: number
}

/**
 * Prefers nodes where the pod makes the utilization of resources more balanced. Pods without requests are not
 * scored.
 */
export const nodeResourcesBalancedAllocation: PluginFactory = (_handle, args) => {
  const names = readResources(args)
  const known = new LruMap<string, NodeValues>(requestsMax)
  return {
    name: 'NodeResourcesBalancedAllocation',
    score: ({ requests }, snapshot) => {
      const all = names.map(name => ({ name, amount: amountOf(requests, name) }))
      if (all.every(({ amount }) => amount === 0)) return undefined
      const asked = all.filter(({ name, amount }) => amount > 0 || isScoredByDefault(name))
      const key = asked.map(({ name, amount }) => `${name}=${amount}`).join()
      const values = known.get(key) ?? new NodeValues(node => balanceScore(node, asked))
      known.set(key, values)
      return { score: values.at(snapshot) }
    },
  }
}

/** Maximum number of different requests whose scores are cached; the least recently used are evicted. */
const requestsMax = 64

function balanceScore(node: NodeInfo, asked: readonly Asked[]): number {
  const change = balance(node, asked, 1) - balance(node, asked, 0)
  return scoreMax / 2 + Math.trunc((scoreMax / 2 + change) / 2)
}

/** Throws Error if they are invalid. */
function readResources(args: Readonly<Record<string, unknown>>): readonly string[] {
  // The args were decoded against their schema.
  const { resources = [] } = args as {
    readonly resources?: readonly { readonly name: string; readonly weight?: number }[]
  }
  const names = resources.map(({ name }) => name)
  const errors = resources.flatMap(({ name, weight }, index) => [
    ...(names.indexOf(name) < index ? [duplicate(`resources[${index}].name`, name)] : []),
    ...((weight || 1) === 1 ? [] : [invalid(`resources[${index}].weight`, weight, 'must be 1')]),
  ])
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return names.length === 0 ? resourcesUsual : names
}

/** Maximum if all resources have the same utilization, with or without the pod. */
function balance(node: NodeInfo, asked: readonly Asked[], pods: 0 | 1): number {
  let count = 0
  let sum = 0
  for (let index = 0; index < asked.length; index++) {
    const part = partOf(node, asked[index]!, pods)
    if (part < 0) continue
    count++
    sum += part
  }
  if (count < 2) return scoreMax
  const mean = sum / count
  let squares = 0
  let apart = 0
  for (let index = 0; index < asked.length; index++) {
    const part = partOf(node, asked[index]!, pods)
    if (part < 0) continue
    squares += (part - mean) * (part - mean)
    apart = part - apart
  }
  // For two values the deviation is half of their difference; avoids rounding errors of the square root.
  const deviation = count === 2 ? Math.abs(apart) / 2 : Math.sqrt(squares / count)
  return Math.trunc((1 - deviation) * scoreMax)
}

/** Utilization of a resource; -1 if the node does not have it. */
function partOf({ allocatable, requested }: NodeInfo, { name, amount }: Asked, pods: 0 | 1): number {
  const has = amountOf(allocatable, name)
  return has === 0 ? -1 : Math.min(1, (amountOf(requested, name) + pods * amount) / has)
}
