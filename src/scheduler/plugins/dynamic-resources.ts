/**
 * Dynamic resource allocation: allocates devices for the ResourceClaims of pods. Allocated claims restrict
 * their pods to nodes where the devices are available; for unallocated claims devices are searched on each
 * node, and those of the chosen node are reserved.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
 */
import { pods } from '#/api/generated/core/v1-resources.ts'
import { resourceClaimKeysOf } from '#/api/core/pod-resource-claims.ts'
import { resourceClaims } from '#/api/generated/resource/v1-resources.ts'
import type { PluginHandle, PluginFactory, PostFilterResult } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'
import { DeviceAllocator } from './dynamic-resources/device-allocator.ts'
import type { DeviceSelectors } from './dynamic-resources/device-selectors.ts'
import { DeviceReservations } from './dynamic-resources/device-reservations.ts'
import type { PodDevices } from './dynamic-resources/pod-devices.ts'
import { eventsToRegisterFor } from './dynamic-resources/events-to-register.ts'
import { deallocate, deleteClaim } from './dynamic-resources/write-claim.ts'
import { normalize } from './normalize.ts'

export function dynamicResources(selectors: DeviceSelectors): PluginFactory {
  return (handle, args) => {
    const allocator = new DeviceAllocator(handle, selectors, timeoutMs(args['bindingTimeout']))
    const reservations = new DeviceReservations(handle, allocator)
    const devicesOf = new WeakMap<PodInfo, PodDevices>()
    recheckWhenClaimsChange(handle)
    return {
      name: 'DynamicResources',
      eventsToRegister: eventsToRegisterFor(allocator),
      preEnqueue: pod => {
        const claims = pod.spec?.resourceClaims ? allocator.claimsOf(pod) : undefined
        return claims !== undefined && 'reason' in claims ? claims : undefined
      },
      preFilter: pod => {
        const devices = allocator.devicesFor(pod)
        if (devices === undefined || 'reason' in devices) return devices
        devicesOf.set(pod, devices)
        return { filter: node => devices.filter(node) }
      },
      postFilter: async (pod, { preFilterStatus }) => {
        const devices = devicesOf.get(pod)
        return devices === undefined || preFilterStatus !== undefined
          ? { message: 'no new claims to deallocate' }
          : giveDevicesBack(pod, devices, handle)
      },
      score: pod => {
        const devices = devicesOf.get(pod)
        if (devices === undefined || !devices.hasAlternatives) return undefined
        return { score: ({ name }) => devices.scoreOf(name), normalizeScore: normalize }
      },
      reserve: (pod, node, cycleState) => reservations.reserve(pod, node, cycleState),
      unreserve: (pod, _node, cycleState) => reservations.unreserve(pod, cycleState),
      preBind: (pod, _node, work) => reservations.bind(pod, work),
    }
  }
}

/** Default timeout for the binding conditions of devices. */
const bindingTimeoutUsual = '600s'

/** A duration in Go's syntax with a single unit. */
function timeoutMs(duration: unknown = bindingTimeoutUsual): number {
  const [, amount = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(String(duration)) ?? []
  const inUnit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit]
  if (inUnit === undefined) throw new Error(`bindingTimeout: invalid value: ${JSON.stringify(duration)}`)
  return Number(amount) * inUnit
}

/** Runs preEnqueue again for pods when one of their claims is created or changed. */
function recheckWhenClaimsChange({ informer, recheckPreEnqueue }: PluginHandle): void {
  const byClaim = informer(pods).index('device claims', resourceClaimKeysOf)
  informer(resourceClaims).addEventHandler((key, { newObject }) => {
    if (newObject !== undefined) for (const pod of byClaim.keys(key)) recheckPreEnqueue(pod)
  })
}

/**
 * postFilter: deallocates a claim of the pod that is unavailable on the examined nodes, if no other pod uses
 * it.
 */
async function giveDevicesBack(
  { uid }: PodInfo,
  devices: PodDevices,
  { client }: PluginHandle,
): Promise<PostFilterResult> {
  for (const claim of devices.unavailable) {
    const users = claim.status?.reservedFor ?? []
    if (users.some(user => user.uid !== uid)) continue
    await deallocate(claim, client)
    return { message: 'deallocation of ResourceClaim completed' }
  }
  const { staleClaim } = devices.needs
  if (staleClaim === undefined) return { message: 'still not schedulable' }
  await deleteClaim(staleClaim, client)
  return { message: 'deletion of ResourceClaim completed' }
}
