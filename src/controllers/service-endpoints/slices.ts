import type { Endpoint, EndpointPort, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { labelOf } from '#/api/labels.ts'
import { formatKey, type Stored } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'

/** Accessors for EndpointSlices, shared by the endpoint slice and mirroring controllers. */

export const serviceNameLabel = 'kubernetes.io/service-name'
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'

/** Slices managed by a controller, by service key. */
export function slicesByService(
  slices: Informer<EndpointSlice>,
  managedBy: string,
): Index<Stored<EndpointSlice>> {
  return slices.index(`kept by ${managedBy}`, slice => {
    const key = serviceKeyOf(slice, managedBy)
    return key === undefined ? [] : [key]
  })
}

/** Key of the slice's service; undefined if another controller manages the slice. */
function serviceKeyOf({ metadata }: EndpointSlice, managedBy: string): string | undefined {
  const name = labelOf(metadata.labels, serviceNameLabel)
  if (!name || labelOf(metadata.labels, managedByLabel) !== managedBy) return undefined
  return formatKey({ namespace: metadata.namespace ?? '', name })
}

/**
 * Calls back with the service key when one of its slices is added, deleted, changed, or taken over by another
 * controller.
 */
export function onSliceChange(
  slices: Informer<EndpointSlice>,
  managedBy: string,
  enqueue: (serviceKey: string) => void,
): void {
  slices.addEventHandler((_key, { oldObject, newObject }) => {
    const was = oldObject && serviceKeyOf(oldObject, managedBy)
    const is = newObject && serviceKeyOf(newObject, managedBy)
    if (was !== undefined) enqueue(was)
    if (is !== undefined && is !== was) enqueue(is)
  })
}

/** Identifies a set of ports, independent of order. */
export function portsKey(ports: readonly EndpointPort[] | undefined): string {
  return (ports ?? [])
    .map(({ name = '', port, protocol = 'TCP', appProtocol = '' }) => {
      return JSON.stringify([name, port, protocol, appProtocol])
    })
    .sort()
    .join()
}

/** Identity of an endpoint, without its changeable properties. */
export function endpointKey({ addresses, hostname = '', targetRef }: Endpoint): string {
  const [first = ''] = addresses
  const all = addresses.length > 1 ? addresses.toSorted().join() : first
  return `${all} ${hostname} ${targetRef?.namespace ?? ''}/${targetRef?.name ?? ''}`
}

/** True if two endpoints with the same key are equal, ignoring hints. */
export function isSameEndpoint(left: Endpoint, right: Endpoint): boolean {
  return (
    left.nodeName === right.nodeName &&
    left.zone === right.zone &&
    left.targetRef?.uid === right.targetRef?.uid &&
    left.targetRef?.kind === right.targetRef?.kind &&
    equalJson(left.conditions, right.conditions)
  )
}
