/**
 * Gives pods the devices that they claim. Claims that have devices already keep their pods where these are; for others
 * devices are looked for on each node, and those that were found on the chosen one count as taken from then on.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
 */
import { pods } from '#/api/generated/core/v1-resources.ts'
import { claimKeysOf } from '#/api/pod-resource-claims.ts'
import { resourceClaims } from '#/api/generated/resource/v1-resources.ts'
import type { FilterFailure, PluginContext, PluginFactory, Room } from '../framework.ts'
import type { PodInfo } from '../pod-info.ts'
import { DeviceAllocator } from './dynamic-resources/device-allocator.ts'
import type { DeviceSelectors } from './dynamic-resources/device-selectors.ts'
import { DeviceReservations } from './dynamic-resources/device-reservations.ts'
import type { PodDevices } from './dynamic-resources/pod-devices.ts'
import { wakeUpsFor } from './dynamic-resources/wake-ups.ts'
import { deallocate, deleteClaim } from './dynamic-resources/write-claim.ts'
import { normalize } from './normalize.ts'

export function dynamicResources(selectors: DeviceSelectors): PluginFactory {
  return (context, parameters) => {
    const allocator = new DeviceAllocator(context, selectors, timeoutMs(parameters['bindingTimeout']))
    const reservations = new DeviceReservations(context, allocator)
    const cycles = new WeakMap<PodInfo, PodDevices>()
    reconsiderWithClaims(context)
    return {
      name: 'DynamicResources',
      wakeUps: wakeUpsFor(allocator),
      preEnqueue: pod => {
        const claims = pod.spec?.resourceClaims ? allocator.claimsOf(pod) : undefined
        return claims !== undefined && 'reason' in claims ? claims : undefined
      },
      filter: pod => {
        const devices = allocator.devicesFor(pod)
        if (devices === undefined || 'reason' in devices) return devices
        cycles.set(pod, devices)
        return { test: node => devices.test(node) }
      },
      makeRoom: (pod, failure) => giveDevicesBack(pod, cycles.get(pod), failure, context),
      score: pod => {
        const devices = cycles.get(pod)
        if (devices === undefined || !devices.hasAlternatives) return undefined
        return { score: ({ name }) => devices.scoreOf(name), normalize }
      },
      reserve: (pod, node, cycle) => reservations.reserve(pod, node, cycle),
      unreserve: (pod, _node, cycle) => reservations.unreserve(pod, cycle),
      preBind: (pod, _node, work) => reservations.bind(pod, work),
    }
  }
}

/** How long others may take to make devices ready. */
const bindingTimeoutUsual = '600s'

/** As Go writes it, with seconds, minutes or hours. */
function timeoutMs(duration: unknown = bindingTimeoutUsual): number {
  const [, amount = '', unit = ''] = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h)$/.exec(String(duration)) ?? []
  const inUnit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[unit]
  if (inUnit === undefined) throw new Error(`bindingTimeout: invalid value: ${JSON.stringify(duration)}`)
  return Number(amount) * inUnit
}

/** Pods that are not even queued, since their claims are not there, are when these come. */
function reconsiderWithClaims({ informer, reconsider }: PluginContext): void {
  const byClaim = informer(pods).index('device claims', claimKeysOf)
  informer(resourceClaims).onChange((key, { after }) => {
    if (after !== undefined) for (const pod of byClaim.keys(key)) reconsider(pod)
  })
}

/** Frees the devices of a claim that are somewhere where the pod cannot be, when nobody else uses them. */
async function giveDevicesBack(
  { uid }: PodInfo,
  devices: PodDevices | undefined,
  { everywhere }: FilterFailure,
  { client }: PluginContext,
): Promise<Room> {
  if (devices === undefined || everywhere !== undefined) return { message: 'no new claims to deallocate' }
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
