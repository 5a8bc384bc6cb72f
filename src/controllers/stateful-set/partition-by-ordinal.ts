import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isPodAvailable, isPodReady } from '../pods.ts'
import { ordinalOf } from './identity.ts'

/** An ordinal and its pod, if it exists. */
export interface Replica {
  readonly ordinal: number
  readonly pod: Stored<Pod> | undefined
}

export interface ExistingReplica extends Replica {
  readonly pod: Stored<Pod>
}

export interface OrdinalPartition {
  /** Desired ordinals in order: all existing pods, and the first missing ones. */
  readonly replicas: readonly Replica[]
  /** True if not all missing pods are included. */
  readonly isTruncated: boolean
  /** Pods beyond the desired replicas, highest ordinal first. */
  readonly condemned: readonly ExistingReplica[]
}

/** Maximum number of pods created by one reconcile; the next one continues. */
const missingMax = 500

export function partitionByOrdinal(set: StatefulSet, pods: readonly Stored<Pod>[]): OrdinalPartition {
  const start = set.spec?.ordinals?.start ?? 0
  const end = start + (set.spec?.replicas ?? 1)
  const existing = existingReplicas(set, pods)
  const wanted = existing.filter(({ ordinal }) => ordinal >= start && ordinal < end)
  const taken = new Set(wanted.map(({ ordinal }) => ordinal))
  const missing: Replica[] = []
  for (let ordinal = start; ordinal < end && missing.length < missingMax; ordinal++) {
    if (!taken.has(ordinal)) missing.push({ ordinal, pod: undefined })
  }
  return {
    replicas: [...wanted, ...missing].toSorted((left, right) => left.ordinal - right.ordinal),
    isTruncated: wanted.length + missing.length < end - start,
    condemned: existing
      .filter(({ ordinal }) => !taken.has(ordinal))
      .toSorted((left, right) => right.ordinal - left.ordinal),
  }
}

function existingReplicas(set: StatefulSet, pods: readonly Stored<Pod>[]): readonly ExistingReplica[] {
  return pods.flatMap(pod => {
    const ordinal = ordinalOf(set, pod)
    return ordinal === undefined ? [] : { ordinal, pod }
  })
}

export function isRunningAndReady(pod: Pod): boolean {
  return pod.status?.phase === 'Running' && isPodReady(pod)
}

/** True if the pod no longer blocks ordered operations on other pods. */
export function isHealthy(pod: Pod, set: StatefulSet, nowMs: number): boolean {
  return isRunningAndReady(pod) && !isUnavailable(pod, set, nowMs)
}

/** True if the pod counts as unavailable during an update. */
export function isUnavailable(pod: Pod | undefined, set: StatefulSet, nowMs: number): boolean {
  if (pod === undefined || isBeingDeleted(pod)) return true
  return !isPodAvailable(pod, set.spec?.minReadySeconds ?? 0, nowMs)
}
