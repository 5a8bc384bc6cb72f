import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { ResourceClaim } from '#/api/generated/resource/v1.ts'
import { deviceClasses, resourceClaims, resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { type ClusterEventWithHint, clusterEventWithHint } from '../../framework.ts'
import type { DeviceAllocator } from './device-allocator.ts'

export function eventsToRegisterFor(allocator: DeviceAllocator): readonly ClusterEventWithHint[] {
  return [
    clusterEventWithHint({
      resource: nodes,
      on: ['add', 'update'],
      queueingHint: (_pod, { before, after }) => {
        return (
          before === undefined ||
          !equalJson(before.metadata.labels, after?.metadata.labels) ||
          !equalJson(before.status?.allocatable, after?.status?.allocatable)
        )
      },
    }),
    clusterEventWithHint({
      resource: resourceClaims,
      on: ['add', 'update'],
      queueingHint: (pod, change) => isSchedulableAfterClaimChange(pod, change, allocator),
    }),
    clusterEventWithHint({
      resource: resourceClaims,
      on: ['delete'],
      queueingHint: (_pod, { before }) => before?.status?.allocation !== undefined,
    }),
    clusterEventWithHint({ resource: deviceClasses, on: ['add', 'update'] }),
    clusterEventWithHint({ resource: resourceSlices, on: ['add', 'update'] }),
  ]
}

/** True if devices were freed, or if a claim of the pod was created or changed. */
function isSchedulableAfterClaimChange(
  pod: Stored<Pod>,
  { before, after }: { readonly before?: Stored<ResourceClaim>; readonly after?: Stored<ResourceClaim> },
  allocator: DeviceAllocator,
): boolean {
  const own = allocator.claimsOf(pod)
  if ('reason' in own || after === undefined) return false
  if (before?.status?.allocation !== undefined && after.status?.allocation === undefined) return true
  if (!own.claims.some(({ metadata }) => metadata.uid === after.metadata.uid)) return false
  return before === undefined || !equalJson(before.status, after.status)
}
