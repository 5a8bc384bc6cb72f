import { duplicate, formatFieldErrors, invalid } from '#/api/field-error.ts'
import { scoreMax, type PluginFactory } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { isBasic, takenOf } from './node-resources-fit/strategy.ts'

const resourcesUsual = ['cpu', 'memory']

interface Asked {
  readonly name: string
  readonly amount: number
}

/** Likes nodes whose resources become used to a like part by the pod. One that asks for nothing changes none. */
export const nodeResourcesBalancedAllocation: PluginFactory = (_context, parameters) => {
  const names = readResources(parameters)
  return {
    name: 'NodeResourcesBalancedAllocation',
    score: ({ requests }) => {
      const all = names.map(name => ({ name, amount: takenOf(requests, name) }))
      if (all.every(({ amount }) => amount === 0)) return undefined
      const asked = all.filter(({ name, amount }) => amount > 0 || isBasic(name))
      return {
        score: node => {
          const change = balance(node, asked, 1) - balance(node, asked, 0)
          return scoreMax / 2 + Math.trunc((scoreMax / 2 + change) / 2)
        },
      }
    },
  }
}

/** Throws Error when they are not valid. */
function readResources(parameters: Readonly<Record<string, unknown>>): readonly string[] {
  // The configuration was decoded against its schema.
  const { resources = [] } = parameters as {
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

/** The highest when all resources are used to the same part, with the pod or without it. */
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
  // Of two the deviation is half of what is between them, without the errors of the root.
  const deviation = count === 2 ? Math.abs(apart) / 2 : Math.sqrt(squares / count)
  return Math.trunc((1 - deviation) * scoreMax)
}

/** How much of what a node has is taken; less than nothing when it has none. */
function partOf({ allocatable, requested }: NodeInfo, { name, amount }: Asked, pods: 0 | 1): number {
  const has = takenOf(allocatable, name)
  return has === 0 ? -1 : Math.min(1, (takenOf(requested, name) + pods * amount) / has)
}
