import { toleratesDeviceTaint } from '#/api/device-taints.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type {
  DeviceRequestAllocationResult,
  DeviceTaint,
  DeviceToleration,
  ResourceClaim,
  ResourceSlice,
} from '#/api/generated/resource/v1.ts'
import { compareInt64, type Int64 } from '#/api/int64.ts'
import { claimNameOf, isReservedFor, isUsableBy } from '#/api/pod-resource-claims.ts'
import { parseTime } from '#/api/time.ts'

export interface DevicesWorld {
  readonly claimNamed: (name: string) => ResourceClaim | undefined
  /** All slices of a pool, including outdated generations. */
  readonly slicesOf: (driver: string, pool: string) => readonly ResourceSlice[]
}

/** Time at which a pod must be evicted because of device taints; undefined if it may stay. */
export function evictionTimeMs(pod: Pod, { claimNamed, slicesOf }: DevicesWorld): number | undefined {
  if (!pod.spec?.nodeName) return undefined
  const times = (pod.spec.resourceClaims ?? []).flatMap(entry => {
    const known = claimNameOf(pod, entry)
    const claim = typeof known === 'string' ? undefined : claimNamed(known.name)
    if (typeof known === 'string' || claim === undefined) return []
    if (!isUsableBy(claim, pod, known.isGenerated) || !isReservedFor(claim, pod)) return []
    return (claim.status?.allocation?.devices?.results ?? []).flatMap(device => {
      return taintsOf(device, slicesOf(device.driver, device.pool)).flatMap(({ taint, sinceMs }) => {
        const toleratedMs = tolerationMs(taint, device.tolerations ?? [])
        return toleratedMs === Infinity ? [] : [sinceMs + toleratedMs]
      })
    })
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

interface NoExecuteTaint {
  readonly taint: DeviceTaint
  readonly sinceMs: number
}

/** NoExecute taints of a device according to the newest generation of the pool. */
function taintsOf(
  { device: name }: DeviceRequestAllocationResult,
  slices: readonly ResourceSlice[],
): readonly NoExecuteTaint[] {
  const newest = slices.reduce<Int64>((highest, { spec }) => {
    return compareInt64(spec.pool.generation, highest) > 0 ? spec.pool.generation : highest
  }, 0)
  return slices
    .filter(({ spec }) => compareInt64(spec.pool.generation, newest) === 0)
    .flatMap(({ metadata, spec }) => {
      const device = spec.devices?.find(each => each.name === name)
      return (device?.taints ?? []).filter(isNoExecute).map(taint => {
        const since = taint.timeAdded ?? metadata?.creationTimestamp ?? ''
        return { taint, sinceMs: parseTime(since) ?? 0 }
      })
    })
}

export function isNoExecute({ effect }: DeviceTaint): boolean {
  return effect === 'NoExecute'
}

/**
 * Time for which a taint is tolerated: the minimum `tolerationSeconds` of the matching tolerations; Infinity
 * if one of them has none.
 */
function tolerationMs(taint: DeviceTaint, tolerations: readonly DeviceToleration[]): number {
  const matching = tolerations.filter(
    each => each.effect === taint.effect && toleratesDeviceTaint(each, taint),
  )
  if (matching.some(({ tolerationSeconds }) => tolerationSeconds === undefined)) return Infinity
  if (matching.length === 0) return 0
  return Math.min(...matching.map(each => Math.max(0, Number(each.tolerationSeconds)) * 1_000))
}
