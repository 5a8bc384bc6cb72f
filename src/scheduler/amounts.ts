/** Resource amounts as plain numbers, for the hot loops of filter and score: millicores, bytes, counts. */
import type { Container, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { podRequests } from '#/api/pod-resources.ts'
import { quantityMilliValue, quantityValue, tryParseQuantity } from '#/api/quantity.ts'
import { countedSpec } from './amounts/counted-spec.ts'

export interface Amounts {
  /** Millicores. */
  readonly cpu: number
  /** Bytes. */
  readonly memory: number
  readonly ephemeralStorage: number
  /** All other requested resources by name, such as `example.com/gpu` or `hugepages-2Mi`. */
  readonly others: ReadonlyMap<string, number>
}

const nothingElse: ReadonlyMap<string, number> = new Map()

export const noAmounts: Amounts = { cpu: 0, memory: 0, ephemeralStorage: 0, others: nothingElse }

/**
 * Non-zero requests: the amounts assumed by scoring for a container without requests, 0.1 CPU and 200 MiB.
 */
const usual: Readonly<Record<string, string>> = { cpu: '100m', memory: '200Mi' }

/** The requests of a pod, and its non-zero requests used for scoring. */
export function requestsOf(pod: Pod): { readonly requests: Amounts; readonly load: Amounts } {
  const spec = countedSpec(pod)
  const requests = readRequests(spec)
  const busy = withUsual(spec)
  return { requests, load: busy === spec ? requests : readRequests(busy) }
}

function readRequests(spec: PodSpec): Amounts {
  const others = new Map<string, number>()
  let [cpu, memory, ephemeralStorage] = [0, 0, 0]
  for (const [name, amount] of podRequests(spec)) {
    if (name === 'cpu') cpu = Number(quantityMilliValue(amount))
    else if (name === 'memory') memory = Number(quantityValue(amount))
    else if (name === 'ephemeral-storage') ephemeralStorage = Number(quantityValue(amount))
    else others.set(name, Number(quantityValue(amount)))
  }
  return { cpu, memory, ephemeralStorage, others: others.size === 0 ? nothingElse : others }
}

/** Returns the same object if every container requests both. */
function withUsual(spec: PodSpec): PodSpec {
  const { containers, initContainers = [] } = spec
  if (containers.every(asksForBoth) && initContainers.every(asksForBoth)) return spec
  return { ...spec, containers: containers.map(usually), initContainers: initContainers.map(usually) }
}

function asksForBoth({ resources }: Container): boolean {
  const requests = resources?.requests
  return requests?.['cpu'] !== undefined && requests['memory'] !== undefined
}

function usually(container: Container): Container {
  const { resources } = container
  return { ...container, resources: { ...resources, requests: { ...usual, ...resources?.requests } } }
}

/** The amounts in a resource list of the node status. */
export function amountsOf(
  table: Readonly<Record<string, string>> | undefined,
): Amounts & { readonly pods: number } {
  const others = new Map<string, number>()
  let [cpu, memory, ephemeralStorage, pods] = [0, 0, 0, 0]
  for (const [name, text] of Object.entries(table ?? {})) {
    const quantity = tryParseQuantity(text)
    if (quantity === undefined) continue
    if (name === 'cpu') cpu = Number(quantityMilliValue(quantity))
    else if (name === 'memory') memory = Number(quantityValue(quantity))
    else if (name === 'ephemeral-storage') ephemeralStorage = Number(quantityValue(quantity))
    else if (name === 'pods') pods = Number(quantityValue(quantity))
    else others.set(name, Number(quantityValue(quantity)))
  }
  return { cpu, memory, ephemeralStorage, pods, others: others.size === 0 ? nothingElse : others }
}

/** The sum, or the difference if `sign` is -1. */
export function addAmounts(left: Amounts, right: Amounts, sign: 1 | -1): Amounts {
  return {
    cpu: left.cpu + sign * right.cpu,
    memory: left.memory + sign * right.memory,
    ephemeralStorage: left.ephemeralStorage + sign * right.ephemeralStorage,
    others: right.others.size === 0 ? left.others : addOthers(left.others, right.others, sign),
  }
}

function addOthers(
  left: ReadonlyMap<string, number>,
  right: ReadonlyMap<string, number>,
  sign: 1 | -1,
): ReadonlyMap<string, number> {
  const sums = new Map(left)
  for (const [name, amount] of right) sums.set(name, (sums.get(name) ?? 0) + sign * amount)
  return sums
}
