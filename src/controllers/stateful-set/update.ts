import { scaledValueRoundedDown } from '#/api/int-or-string.ts'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { isPodFinished } from '../pods.ts'
import { revisionOf } from './identity.ts'
import { isUnavailable, type Layout, type Slot } from './layout.ts'

export interface UpdateWorld {
  readonly set: StatefulSet
  readonly updateRevision: string
  readonly nowMs: number
}

/**
 * Pods to delete so that they are recreated with the update revision, highest ordinal first.
 * https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies
 */
export function outdatedPods({ slots, isCut }: Layout, world: UpdateWorld): readonly Pod[] {
  const { type, rollingUpdate } = world.set.spec?.updateStrategy ?? {}
  if (type === 'OnDelete' || isCut) return []
  const { maxUnavailable } = rollingUpdate ?? {}
  if (maxUnavailable === undefined) return nextOutdated(slots, world)
  const max = Math.max(1, scaledValueRoundedDown(maxUnavailable, slots.length) ?? 1)
  return outdatedWithin(max, slots, world)
}

/** One at a time; only pods with higher ordinals must be available. */
function nextOutdated(slots: readonly Slot[], world: UpdateWorld): readonly Pod[] {
  for (const { pod } of toUpdate(slots, world)) {
    if (pod !== undefined && isReplaceable(pod) && revisionOf(pod) !== world.updateRevision) return [pod]
    if (isUnavailable(pod, world.set, world.nowMs)) return []
  }
  return []
}

/** Up to `maxUnavailable` pods in total; pods that are already unavailable are always included. */
function outdatedWithin(max: number, slots: readonly Slot[], world: UpdateWorld): readonly Pod[] {
  const { set, updateRevision, nowMs } = world
  const outdated = toUpdate(slots, world)
    .flatMap(({ pod }) => pod ?? [])
    .filter(pod => isReplaceable(pod) && revisionOf(pod) !== updateRevision)
  const unavailable = slots.filter(({ pod }) => isUnavailable(pod, set, nowMs)).length
  const unwell = outdated.filter(pod => isUnavailable(pod, set, nowMs))
  const well = outdated.filter(pod => !isUnavailable(pod, set, nowMs))
  return [...unwell, ...well.slice(0, Math.max(0, max - unavailable))]
}

/** Slots not held back by the partition, highest ordinal first. */
function toUpdate(slots: readonly Slot[], { set }: UpdateWorld): readonly Slot[] {
  const { ordinals, updateStrategy } = set.spec ?? {}
  const first = (ordinals?.start ?? 0) + (updateStrategy?.rollingUpdate?.partition ?? 0)
  return slots.filter(({ ordinal }) => ordinal >= first).toReversed()
}

/** A finished pod is replaced in any case. */
function isReplaceable(pod: Pod): boolean {
  return !isBeingDeleted(pod) && !isPodFinished(pod)
}

/** The revision with which a missing pod is created. */
export function revisionFor(
  ordinal: number,
  slots: readonly Slot[],
  { set, updateRevision }: UpdateWorld,
): 'current' | 'update' {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {}
  if (rollingUpdate !== undefined) {
    const start = set.spec?.ordinals?.start ?? 0
    return ordinal < start + (rollingUpdate.partition ?? 0) ? 'current' : 'update'
  }
  if (type !== 'RollingUpdate') return 'update'
  // The update proceeds from the highest ordinal: a pod gets the old revision while a higher one is still
  // outdated.
  const isBelowUpdate = slots.some(({ ordinal: other, pod }) => {
    return other > ordinal && pod !== undefined && isReplaceable(pod) && revisionOf(pod) !== updateRevision
  })
  return isBelowUpdate ? 'current' : 'update'
}
