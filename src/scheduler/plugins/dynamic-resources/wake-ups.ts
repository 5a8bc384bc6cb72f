import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { ResourceClaim } from '#/api/generated/resource/v1.ts'
import { deviceClasses, resourceClaims, resourceSlices } from '#/api/generated/resource/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { type WakeUp, wakeUp } from '../../framework.ts'
import type { DeviceAllocator } from './device-allocator.ts'

export function wakeUpsFor(allocator: DeviceAllocator): readonly WakeUp[] {
  return [
    wakeUp({
      resource: nodes,
      on: ['add', 'update'],
      isHelpful: (_pod, { before, after }) => {
        return (
          before === undefined ||
          !equalJson(before.metadata?.labels, after?.metadata?.labels) ||
          !equalJson(before.status?.allocatable, after?.status?.allocatable)
        )
      },
    }),
    wakeUp({
      resource: resourceClaims,
      on: ['add', 'update'],
      isHelpful: (pod, change) => isHelpful(pod, change, allocator),
    }),
    wakeUp({
      resource: resourceClaims,
      on: ['delete'],
      isHelpful: (_pod, { before }) => before?.status?.allocation !== undefined,
    }),
    wakeUp({ resource: deviceClasses, on: ['add', 'update'] }),
    wakeUp({ resource: resourceSlices, on: ['add', 'update'] }),
  ]
}

/** True if devices were freed, or if a claim of the pod was created or changed. */
function isHelpful(
  pod: Pod,
  { before, after }: { readonly before?: ResourceClaim; readonly after?: ResourceClaim },
  allocator: DeviceAllocator,
): boolean {
  const own = allocator.claimsOf(pod)
  if ('reason' in own || after === undefined) return false
  if (before?.status?.allocation !== undefined && after.status?.allocation === undefined) return true
  if (!own.claims.some(({ metadata }) => metadata?.uid === after.metadata?.uid)) return false
  return before === undefined || !equalJson(before.status, after.status)
}
