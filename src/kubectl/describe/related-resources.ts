import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { HorizontalPodAutoscaler } from '#/api/generated/autoscaling/v2.ts'
import type { Lease } from '#/api/generated/coordination/v1.ts'
import type { Event, LimitRange, Pod, ResourceQuota, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { ResourceSlice } from '#/api/generated/resource/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'

/**
 * The resources of related objects, as far as a client needs them to read. The generated ones have the schemas and
 * rules of all kinds, which take much longer to load than a description takes.
 */
export const events = related<Event>('events', { kind: 'Event' })
export const limitRanges = related<LimitRange>('limitranges', { kind: 'LimitRange' })
export const pods = related<Pod>('pods', { kind: 'Pod' })
export const resourceQuotas = related<ResourceQuota>('resourcequotas', { kind: 'ResourceQuota' })
export const services = related<Service>('services', { kind: 'Service' })
export const replicaSets = related<ReplicaSet>('replicasets', { group: 'apps', kind: 'ReplicaSet' })
export const horizontalPodAutoscalers = related<HorizontalPodAutoscaler>('horizontalpodautoscalers', {
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
})
export const leases = related<Lease>('leases', { group: 'coordination.k8s.io', kind: 'Lease' })
export const endpointSlices = related<EndpointSlice>('endpointslices', {
  group: 'discovery.k8s.io',
  kind: 'EndpointSlice',
})
export const resourceSlices = related<ResourceSlice>('resourceslices', {
  group: 'resource.k8s.io',
  kind: 'ResourceSlice',
  scope: 'Cluster',
})

type RelatedKind = Pick<Resource, 'kind'> & Partial<Pick<Resource, 'group' | 'version' | 'scope'>>

function related<T extends KubernetesObject>(plural: string, options: RelatedKind): Resource<T> {
  const { group = '', version = 'v1', kind, scope = 'Namespaced' } = options
  return {
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    scope,
    shortNames: [],
    categories: [],
    verbs: ['get', 'list'],
    schema: { type: 'struct', name: '', fields: new Map(), atomic: false, preserveUnknownFields: true },
    subresources: new Map(),
    storage: { group, version },
  }
}
