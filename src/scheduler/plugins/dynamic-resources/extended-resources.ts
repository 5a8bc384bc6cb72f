/**
 * Containers may ask for devices of a class as for any other resource, `example.com/gpu: 1`. On nodes that have no such
 * resource of their own, a claim is made for the pod that asks for the devices.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource
 */
import type { Container, ContainerExtendedResourceRequest, Pod } from '#/api/generated/core/v1.ts'
import type { DeviceRequest, ResourceClaim } from '#/api/generated/resource/v1.ts'
import { quantityValue, tryParseQuantity } from '#/api/quantity.ts'
import type { DeviceClassOf } from '../../device-classes.ts'

export const extendedClaimMark = 'resource.kubernetes.io/extended-resource-claim'

/** Devices for the containers of a pod, and which container gets which. */
export interface ExtendedRequests {
  readonly requests: readonly DeviceRequest[]
  readonly mappings: readonly ContainerExtendedResourceRequest[]
}

/** What is to be asked for, when these resources are met by devices. */
export function extendedRequests(
  { spec }: Pod,
  resources: readonly string[],
  classOf: DeviceClassOf,
): ExtendedRequests {
  const { initContainers = [], containers = [] } = spec ?? {}
  const all = [...initContainers, ...containers].map((container, index): NumberedContainer => {
    return { container, index, isPassing: isPassing(container, index < initContainers.length) }
  })
  const parts = resources
    .toSorted()
    .flatMap(resource => requestsFor(resource, classOf(resource)?.metadata?.name ?? '', all))
  return {
    requests: parts
      .flatMap(({ requests }) => requests)
      .toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    mappings: parts.flatMap(({ mappings }) => mappings),
  }
}

/** The claim that stands for the requests of a pod; it gets its name when it is made. */
export function extendedClaim(
  { metadata }: Pod,
  requests: readonly DeviceRequest[],
  uid: string,
): ResourceClaim {
  const { namespace = '', name = '', uid: podUid = '' } = metadata ?? {}
  const owner = { apiVersion: 'v1', kind: 'Pod', name, uid: podUid, controller: true }
  return {
    metadata: {
      namespace,
      generateName: `${name}-extended-resources-`,
      uid,
      annotations: { [extendedClaimMark]: 'true' },
      ownerReferences: [owner],
    },
    spec: { devices: { requests } },
  }
}

interface NumberedContainer {
  readonly container: Container
  /** Among all containers, those that come first included. */
  readonly index: number
  /** It has ended when others that come later begin, so that they can have its devices. */
  readonly isPassing: boolean
}

function isPassing({ restartPolicy }: Container, isInit: boolean): boolean {
  return isInit && restartPolicy !== 'Always'
}

interface CountedRequest {
  readonly name: string
  readonly count: number
}

/** Containers that pass use the devices of those that stay and come later; what they need beyond that they share. */
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
  for (const each of containers.filter(({ isPassing: passes }) => !passes)) {
    const count = countOf(each, resource)
    if (count === 0) continue
    const name = requestName(each, resource)
    staying.set(each.index, { name, count })
    map(each, name)
  }
  const passing = containers.filter(each => each.isPassing && countOf(each, resource) > 0)
  const extra = passing
    .map(each => ({ each, missing: countOf(each, resource) - reusable(each, resource, staying).count }))
    .filter(({ missing }) => missing > 0)
  const largest = extra.reduce<(typeof extra)[number] | undefined>((most, one) => {
    return most === undefined || one.missing > most.missing ? one : most
  }, undefined)
  const shared = largest && { name: requestName(largest.each, resource), count: largest.missing }
  for (const each of passing) {
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

/** The requests of containers that come later, as many as it takes. */
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

/** By the place of the container, and of the resource among all that it asks for. */
function requestName({ container, index }: NumberedContainer, resource: string): string {
  const names = Object.keys(container.resources?.requests ?? {}).toSorted()
  return `container-${index}-request-${names.indexOf(resource)}`
}
