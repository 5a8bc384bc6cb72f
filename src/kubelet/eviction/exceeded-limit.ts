/**
 * Limits of local ephemeral storage: writable layers, logs and emptyDir volumes.
 * https://kubernetes.io/docs/concepts/storage/ephemeral-storage/
 */
import type { Volume } from '#/api/generated/core/v1.ts'
import { aggregatePodResources } from '#/api/core/pod-resources.ts'
import {
  compareQuantities,
  formatQuantity,
  quantityFromInteger,
  quantitySign,
  tryParseQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { quote } from '#/api/text/quote.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import { sumOf, type PodUsage } from './pod-usage.ts'

const resource = 'ephemeral-storage'

/** True if the pod's disk usage has to be measured. */
export function hasStorageLimit(pod: KubeletPod): boolean {
  return (pod.spec?.volumes ?? []).some(volume => sizeLimitOf(volume) !== undefined) || hasContainerLimit(pod)
}

/** True if writable layers and logs count, and not only volumes with a size limit. */
export function hasContainerLimit(pod: KubeletPod): boolean {
  return podLimit(pod) !== undefined
}

export interface ExceededLimit {
  /** Name of the limit in metrics. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit'
  readonly message: string
}

/** The first limit that is exceeded; undefined if none is. */
export function exceededLimit(
  pod: KubeletPod,
  usage: PodUsage,
  hasDedicatedImageFs: boolean,
): ExceededLimit | undefined {
  return (
    exceededVolume(pod, usage) ??
    exceededPod(pod, usage) ??
    exceededContainer(pod, usage, hasDedicatedImageFs)
  )
}

function exceededVolume({ spec }: KubeletPod, { volumes }: PodUsage): ExceededLimit | undefined {
  for (const volume of spec?.volumes ?? []) {
    const limit = sizeLimitOf(volume)
    const used = volumes.find(({ name }) => name === volume.name)?.bytes
    if (limit === undefined || used === undefined || !exceeds(used, limit)) continue
    const message = `Usage of EmptyDir volume ${quote(volume.name)} exceeds the limit ${quote(formatQuantity(limit))}. `
    return { signal: 'emptydirfs.limit', message }
  }
  return undefined
}

/** The kernel limits the size of volumes in memory. */
function sizeLimitOf({ emptyDir }: Volume): Quantity | undefined {
  if (emptyDir?.sizeLimit === undefined || emptyDir.medium) return undefined
  const limit = tryParseQuantity(emptyDir.sizeLimit)
  return limit !== undefined && quantitySign(limit) > 0 ? limit : undefined
}

function exceededPod(pod: KubeletPod, { containers, volumes }: PodUsage): ExceededLimit | undefined {
  const limit = podLimit(pod)
  const used =
    sumOf(containers, ({ writableLayer, logs }) => writableLayer.bytes + logs.bytes) +
    sumOf(volumes, ({ bytes }) => bytes)
  if (limit === undefined || !exceeds(used, limit)) return undefined
  const message = `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `
  return { signal: 'ephemeralpodfs.limit', message }
}

function podLimit({ spec }: KubeletPod): Quantity | undefined {
  return spec === undefined ? undefined : aggregatePodResources(spec, 'limits').get(resource)
}

/** A writable layer on a filesystem of its own does not use the storage that the limit is about. */
function exceededContainer(
  { spec }: KubeletPod,
  { containers }: PodUsage,
  hasDedicatedImageFs: boolean,
): ExceededLimit | undefined {
  for (const { name, logs, writableLayer } of containers) {
    const container = spec?.containers.find(each => each.name === name)
    const limit = tryParseQuantity(container?.resources?.limits?.[resource] ?? '0')
    const used = logs.bytes + (hasDedicatedImageFs ? 0 : writableLayer.bytes)
    if (limit === undefined || quantitySign(limit) <= 0 || !exceeds(used, limit)) continue
    const message = `Container ${name} exceeded its local ephemeral storage limit ${quote(formatQuantity(limit))}. `
    return { signal: 'ephemeralcontainerfs.limit', message }
  }
  return undefined
}

function exceeds(bytes: number, limit: Quantity): boolean {
  return compareQuantities(quantityFromInteger(bytes, 'BinarySI'), limit) > 0
}
