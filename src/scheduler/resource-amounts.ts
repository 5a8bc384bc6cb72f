/** Resource amounts as plain numbers, for the hot loops of filter and score: millicores, bytes, counts. */
import type { Container, Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { podRequests } from '#/api/core/pod-resources.ts'
import { quantityMilliValue, quantityValue, tryParseQuantity } from '#/api/text/quantity.ts'
import { withResizeRequests } from './resize-requests.ts'

export interface ResourceAmounts {
  /** Millicores. */
  readonly cpu: number
  /** Bytes. */
  readonly memory: number
  readonly ephemeralStorage: number
  /** All other requested resources by name, such as `example.com/gpu` or `hugepages-2Mi`. */
  readonly scalarResources: ReadonlyMap<string, number>
}

const noScalarResources: ReadonlyMap<string, number> = new Map()

export const noResources: ResourceAmounts = {
  cpu: 0,
  memory: 0,
  ephemeralStorage: 0,
  scalarResources: noScalarResources,
}

/**
 * Non-zero requests: the amounts assumed by scoring for a container without requests, 0.1 CPU and 200 MiB.
 */
const defaultRequests: Readonly<Record<string, string>> = { cpu: '100m', memory: '200Mi' }

/** The requests of a pod, and its non-zero requests used for scoring. */
export function requestsOf(pod: Pod): {
  readonly requests: ResourceAmounts
  readonly nonZeroRequests: ResourceAmounts
} {
  const spec = withResizeRequests(pod)
  const requests = readRequests(spec)
  const nonZero = withNonZeroRequests(spec)
  return { requests, nonZeroRequests: nonZero === spec ? requests : readRequests(nonZero) }
}

function readRequests(spec: PodSpec): ResourceAmounts {
  const scalarResources = new Map<string, number>()
  let [cpu, memory, ephemeralStorage] = [0, 0, 0]
  for (const [name, amount] of podRequests(spec)) {
    if (name === 'cpu') cpu = Number(quantityMilliValue(amount))
    else if (name === 'memory') memory = Number(quantityValue(amount))
    else if (name === 'ephemeral-storage') ephemeralStorage = Number(quantityValue(amount))
    else scalarResources.set(name, Number(quantityValue(amount)))
  }
  return {
    cpu,
    memory,
    ephemeralStorage,
    scalarResources: scalarResources.size === 0 ? noScalarResources : scalarResources,
  }
}

/** Returns the same object if every container requests both. */
function withNonZeroRequests(spec: PodSpec): PodSpec {
  const { containers, initContainers = [] } = spec
  if (containers.every(asksForBoth) && initContainers.every(asksForBoth)) return spec
  return {
    ...spec,
    containers: containers.map(withDefaultRequests),
    initContainers: initContainers.map(withDefaultRequests),
  }
}

function asksForBoth({ resources }: Container): boolean {
  const requests = resources?.requests
  return requests?.['cpu'] !== undefined && requests['memory'] !== undefined
}

function withDefaultRequests(container: Container): Container {
  const { resources } = container
  return {
    ...container,
    resources: { ...resources, requests: { ...defaultRequests, ...resources?.requests } },
  }
}

/** The amounts in a resource list of the node status. */
export function resourcesOf(
  table: Readonly<Record<string, string>> | undefined,
): ResourceAmounts & { readonly pods: number } {
  const scalarResources = new Map<string, number>()
  let [cpu, memory, ephemeralStorage, pods] = [0, 0, 0, 0]
  for (const [name, text] of Object.entries(table ?? {})) {
    const quantity = tryParseQuantity(text)
    if (quantity === undefined) continue
    if (name === 'cpu') cpu = Number(quantityMilliValue(quantity))
    else if (name === 'memory') memory = Number(quantityValue(quantity))
    else if (name === 'ephemeral-storage') ephemeralStorage = Number(quantityValue(quantity))
    else if (name === 'pods') pods = Number(quantityValue(quantity))
    else scalarResources.set(name, Number(quantityValue(quantity)))
  }
  return {
    cpu,
    memory,
    ephemeralStorage,
    pods,
    scalarResources: scalarResources.size === 0 ? noScalarResources : scalarResources,
  }
}

/** The sum, or the difference if `sign` is -1. */
export function addResources(left: ResourceAmounts, right: ResourceAmounts, sign: 1 | -1): ResourceAmounts {
  return {
    cpu: left.cpu + sign * right.cpu,
    memory: left.memory + sign * right.memory,
    ephemeralStorage: left.ephemeralStorage + sign * right.ephemeralStorage,
    scalarResources:
      right.scalarResources.size === 0
        ? left.scalarResources
        : addScalarResources(left.scalarResources, right.scalarResources, sign),
  }
}

function addScalarResources(
  left: ReadonlyMap<string, number>,
  right: ReadonlyMap<string, number>,
  sign: 1 | -1,
): ReadonlyMap<string, number> {
  const sums = new Map(left)
  for (const [name, amount] of right) sums.set(name, (sums.get(name) ?? 0) + sign * amount)
  return sums
}
