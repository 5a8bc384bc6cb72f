import type { Endpoint, EndpointPort, EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { labelOf } from '#/api/labels.ts'
import { formatKey } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import type { ObjectIndex } from '#/client/object-store.ts'

/** What the two controllers that write slices ask of slices. */

export const serviceNameLabel = 'kubernetes.io/service-name'
export const managedByLabel = 'endpointslice.kubernetes.io/managed-by'

/** The slices that a controller keeps, by the key of their service. */
export function slicesByService(
  slices: Informer<EndpointSlice>,
  managedBy: string,
): ObjectIndex<EndpointSlice> {
  return slices.index(`kept by ${managedBy}`, slice => {
    const key = serviceKeyOf(slice, managedBy)
    return key === undefined ? [] : [key]
  })
}

/** The key of the service whose slice this is; undefined when somebody else keeps it. */
function serviceKeyOf({ metadata }: EndpointSlice, managedBy: string): string | undefined {
  const name = labelOf(metadata?.labels, serviceNameLabel)
  if (!name || labelOf(metadata?.labels, managedByLabel) !== managedBy) return undefined
  return formatKey({ namespace: metadata?.namespace ?? '', name })
}

/** Told the key of the service when one of its slices comes, goes, changes, or is somebody else's from now on. */
export function onSliceChange(
  slices: Informer<EndpointSlice>,
  managedBy: string,
  wake: (serviceKey: string) => void,
): void {
  slices.onChange((_key, { before, after }) => {
    const was = before && serviceKeyOf(before, managedBy)
    const is = after && serviceKeyOf(after, managedBy)
    if (was !== undefined) wake(was)
    if (is !== undefined && is !== was) wake(is)
  })
}

/** Which ports a slice has, in whatever order. */
export function portsKey(ports: readonly EndpointPort[] | undefined): string {
  return (ports ?? [])
    .map(({ name = '', port, protocol = 'TCP', appProtocol = '' }) => {
      return JSON.stringify([name, port, protocol, appProtocol])
    })
    .sort()
    .join()
}

/** Which endpoint it is: what it is like may change. */
export function endpointKey({ addresses, hostname = '', targetRef }: Endpoint): string {
  const [first = ''] = addresses
  const all = addresses.length > 1 ? addresses.toSorted().join() : first
  return `${all} ${hostname} ${targetRef?.namespace ?? ''}/${targetRef?.name ?? ''}`
}

/** Whether two endpoints with one key are alike, whatever hints they have. */
export function isSameEndpoint(left: Endpoint, right: Endpoint): boolean {
  return (
    left.nodeName === right.nodeName &&
    left.zone === right.zone &&
    left.targetRef?.uid === right.targetRef?.uid &&
    left.targetRef?.kind === right.targetRef?.kind &&
    equalJson(left.conditions, right.conditions)
  )
}
