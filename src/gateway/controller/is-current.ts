import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'

/** True if the fields that the plan sets have not been changed by others. */
export function isServiceCurrent(service: Service | undefined, wanted: Service): boolean {
  if (service === undefined || !hasMetadata(service, wanted)) return false
  const { type, loadBalancerIP, externalTrafficPolicy, ports = [] } = service.spec ?? {}
  const portsOf = (list: NonNullable<Service['spec']>['ports']) => {
    return (list ?? []).map(({ name, port, protocol = 'TCP' }) => ({ name, port, protocol }))
  }
  return (
    type === wanted.spec?.type &&
    externalTrafficPolicy === (wanted.spec?.externalTrafficPolicy ?? externalTrafficPolicy) &&
    (loadBalancerIP ?? '') === (wanted.spec?.loadBalancerIP ?? '') &&
    equalJson(portsOf(ports), portsOf(wanted.spec?.ports))
  )
}

export function isSliceCurrent(slice: EndpointSlice | undefined, wanted: EndpointSlice): boolean {
  return (
    slice !== undefined &&
    hasMetadata(slice, wanted) &&
    slice.addressType === wanted.addressType &&
    equalJson(
      slice.endpoints?.map(({ addresses, nodeName }) => [addresses, nodeName ?? '']),
      wanted.endpoints?.map(({ addresses, nodeName }) => [addresses, nodeName ?? '']),
    ) &&
    equalJson(
      slice.ports?.map(({ name, port }) => ({ name, port })),
      wanted.ports?.map(({ name, port }) => ({ name, port })),
    )
  )
}

function hasMetadata({ metadata }: KubernetesObject, wanted: KubernetesObject): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = wanted.metadata
  return (
    Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value) &&
    Object.entries(annotations).every(([key, value]) => metadata.annotations?.[key] === value) &&
    ownerReferences.every(owner => metadata.ownerReferences?.some(({ uid }) => uid === owner.uid))
  )
}
