/**
 * Extended resources provided by DRA: containers can request devices of a class like any other resource,
 * `example.com/gpu: 1`. For nodes without such a resource in their status, a claim for the devices is created
 * for the pod.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource
 */
import type { Container, ContainerExtendedResourceRequest, Pod } from '#/api/generated/core/v1.ts'
import type { DeviceRequest, ResourceClaim } from '#/api/generated/resource/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { quantityValue, tryParseQuantity } from '#/api/text/quantity.ts'
import type { DeviceClassOf } from '../../device-classes.ts'

export const extendedResourceClaimAnnotation = 'resource.kubernetes.io/extended-resource-claim'

/** Device requests for the containers of a pod, with the mapping from containers to requests. */
export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[]
  readonly mappings: readonly ContainerExtendedResourceRequest[]
}

/** The device requests for these extended resources. */
export function extendedRequests(
  { spec }: Pod,
  resources: readonly string[],
  classOf: DeviceClassOf,
): ExtendedRequests {
  const { initContainers = [], containers = [] } = spec ?? {}
  const all = [...initContainers, ...containers].map((container, index): NumberedContainer => {
    return {
      container,
      index,
      isNonRestartableInit: isNonRestartableInit(container, index < initContainers.length),
    }
  })
  const parts = resources
    .toSorted()
    .flatMap(resource => requestsFor(resource, classOf(resource)?.metadata.name ?? '', all))
  return {
    requests: parts
      .flatMap(({ requests }) => requests)
      .toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    mappings: parts.flatMap(({ mappings }) => mappings),
  }
}

/** The claim for the extended resources of a pod; its name is generated on creation. */
export function extendedClaim({ metadata }: Stored<Pod>, requests: readonly DeviceRequest[]): ResourceClaim {
  const { namespace = '', name, uid } = metadata
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }
  return {
    metadata: {
      namespace,
      generateName: `${name}-extended-resources-`,
      annotations: { [extendedResourceClaimAnnotation]: 'true' },
      ownerReferences: [owner],
    },
    spec: { devices: { requests } },
  }
}

interface NumberedContainer {
  readonly container: Container
  /** Index among all containers, init containers first. */
  readonly index: number
  /**
   * True for an init container that ends before later containers start, so that they can reuse its devices.
   */
  readonly isNonRestartableInit: boolean
}

function isNonRestartableInit({ restartPolicy }: Container, isInit: boolean): boolean {
  return isInit && restartPolicy !== 'Always'
}

interface CountedRequest {
  readonly name: string
  readonly count: number
}

/**
 * Init containers reuse the devices of later containers; additional devices are shared among init containers.
 */
function requestsFor(
  resource: string,
  deviceClassName: string,
  containers: readonly NumberedContainer[],
): ExtendedRequests {
  const staying = new Map<number, CountedRequest>()
  const mappings: ContainerExtendedResourceRequest[] = []
  const map = ({ container }: NumberedContainer, requestName: string): void => {
    mappings.push({ containerName: container.name, resourceName: resource, requestName })
  }
  for (const each of containers.filter(({ isNonRestartableInit: isInit }) => !isInit)) {
    const count = countOf(each, resource)
    if (count === 0) continue
    const name = requestName(each, resource)
    staying.set(each.index, { name, count })
    map(each, name)
  }
  const initContainers = containers.filter(each => each.isNonRestartableInit && countOf(each, resource) > 0)
  const extra = initContainers
    .map(each => ({ each, missing: countOf(each, resource) - reusable(each, resource, staying).count }))
    .filter(({ missing }) => missing > 0)
  const largest = extra.reduce<(typeof extra)[number] | undefined>((most, one) => {
    return most === undefined || one.missing > most.missing ? one : most
  }, undefined)
  const shared = largest && { name: requestName(largest.each, resource), count: largest.missing }
  for (const each of initContainers) {
    const { names, count } = reusable(each, resource, staying)
    for (const name of names) map(each, name)
    if (shared !== undefined && count < countOf(each, resource)) map(each, shared.name)
  }
  const counted = [...(shared ? [shared] : []), ...staying.values()]
  return {
    mappings,
    requests: counted.map(({ name, count }) => {
      return { name, exactly: { deviceClassName, allocationMode: 'ExactCount', count } }
    }),
  }
}

/** The requests of later containers, as many as needed. */
function reusable(
  container: NumberedContainer,
  resource: string,
  staying: ReadonlyMap<number, CountedRequest>,
): { readonly names: readonly string[]; readonly count: number } {
  const wanted = countOf(container, resource)
  const names: string[] = []
  let count = 0
  for (const [index, request] of [...staying].toSorted(([left], [right]) => left - right)) {
    if (index < container.index || count >= wanted) continue
    names.push(request.name)
    count += request.count
  }
  return { names, count }
}

function countOf({ container }: NumberedContainer, resource: string): number {
  const text = container.resources?.requests?.[resource]
  const quantity = text === undefined ? undefined : tryParseQuantity(text)
  return quantity === undefined ? 0 : Number(quantityValue(quantity))
}

/** By index of the container, and of the resource among those that it requests. */
function requestName({ container, index }: NumberedContainer, resource: string): string {
  const names = Object.keys(container.resources?.requests ?? {}).toSorted()
  return `container-${index}-request-${names.indexOf(resource)}`
}
