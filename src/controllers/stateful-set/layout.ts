import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { isPodAvailable, isPodReady } from '../pods.ts'
import { ordinalOf } from './identity.ts'

/** An ordinal and its pod, if it exists. */
export interface Slot {
  readonly ordinal: number
  readonly pod: Pod | undefined
}

export interface Member extends Slot {
  readonly pod: Pod
}

export interface Layout {
  /** Desired ordinals in order: all existing pods, and the first missing ones. */
  readonly slots: readonly Slot[]
  /** True if not all missing pods have a slot. */
  readonly isCut: boolean
  /** Members beyond the desired replicas, highest ordinal first. */
  readonly surplus: readonly Member[]
}

/** Maximum number of pods created by one reconcile; the next one continues. */
const missingMax = 500

export function layOut(set: StatefulSet, pods: readonly Pod[]): Layout {
  const start = set.spec?.ordinals?.start ?? 0
  const end = start + (set.spec?.replicas ?? 1)
  const members = membersOf(set, pods)
  const wanted = members.filter(({ ordinal }) => ordinal >= start && ordinal < end)
  const taken = new Set(wanted.map(({ ordinal }) => ordinal))
  const missing: Slot[] = []
  for (let ordinal = start; ordinal < end && missing.length < missingMax; ordinal++) {
    if (!taken.has(ordinal)) missing.push({ ordinal, pod: undefined })
  }
  return {
    slots: [...wanted, ...missing].toSorted((left, right) => left.ordinal - right.ordinal),
    isCut: wanted.length + missing.length < end - start,
    surplus: members
      .filter(({ ordinal }) => !taken.has(ordinal))
      .toSorted((left, right) => right.ordinal - left.ordinal),
  }
}

function membersOf(set: StatefulSet, pods: readonly Pod[]): readonly Member[] {
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
