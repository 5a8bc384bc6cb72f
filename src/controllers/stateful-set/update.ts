import { scaledValueRoundedDown } from '#/api/text/int-or-string.ts'
import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isPodTerminal } from '../pods.ts'
import { revisionOf } from './identity.ts'
import { isUnavailable, type OrdinalPartition, type Replica } from './partition-by-ordinal.ts'

export interface UpdateWorld {
  readonly set: StatefulSet
  readonly updateRevision: string
  readonly nowMs: number
}

/**
 * Pods to delete so that they are recreated with the update revision, highest ordinal first.
 * https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#update-strategies
 */
export function outdatedPods(
  { replicas, isTruncated }: OrdinalPartition,
  world: UpdateWorld,
): readonly Stored<Pod>[] {
  const { type, rollingUpdate } = world.set.spec?.updateStrategy ?? {}
  if (type === 'OnDelete' || isTruncated) return []
  const { maxUnavailable } = rollingUpdate ?? {}
  if (maxUnavailable === undefined) return nextOutdated(replicas, world)
  const max = Math.max(1, scaledValueRoundedDown(maxUnavailable, replicas.length) ?? 1)
  return outdatedWithin(max, replicas, world)
}

/** One at a time; only pods with higher ordinals must be available. */
function nextOutdated(replicas: readonly Replica[], world: UpdateWorld): readonly Stored<Pod>[] {
  for (const { pod } of toUpdate(replicas, world)) {
    if (pod !== undefined && isReplaceable(pod) && revisionOf(pod) !== world.updateRevision) return [pod]
    if (isUnavailable(pod, world.set, world.nowMs)) return []
  }
  return []
}

/** Up to `maxUnavailable` pods in total; pods that are already unavailable are always included. */
function outdatedWithin(
  max: number,
  replicas: readonly Replica[],
  world: UpdateWorld,
): readonly Stored<Pod>[] {
  const { set, updateRevision, nowMs } = world
  const outdated = toUpdate(replicas, world)
    .flatMap(({ pod }) => pod ?? [])
    .filter(pod => isReplaceable(pod) && revisionOf(pod) !== updateRevision)
  const unavailable = replicas.filter(({ pod }) => isUnavailable(pod, set, nowMs)).length
  const unhealthy = outdated.filter(pod => isUnavailable(pod, set, nowMs))
  const healthy = outdated.filter(pod => !isUnavailable(pod, set, nowMs))
  return [...unhealthy, ...healthy.slice(0, Math.max(0, max - unavailable))]
}

/** Slots not held back by the partition, highest ordinal first. */
function toUpdate(replicas: readonly Replica[], { set }: UpdateWorld): readonly Replica[] {
  const { ordinals, updateStrategy } = set.spec ?? {}
  const first = (ordinals?.start ?? 0) + (updateStrategy?.rollingUpdate?.partition ?? 0)
  return replicas.filter(({ ordinal }) => ordinal >= first).toReversed()
}

/** A finished pod is replaced in any case. */
function isReplaceable(pod: Pod): boolean {
  return !isBeingDeleted(pod) && !isPodTerminal(pod)
}

/** The revision with which a missing pod is created. */
export function revisionFor(
  ordinal: number,
  replicas: readonly Replica[],
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
  const isBelowUpdate = replicas.some(({ ordinal: other, pod }) => {
    return other > ordinal && pod !== undefined && isReplaceable(pod) && revisionOf(pod) !== updateRevision
  })
  return isBelowUpdate ? 'current' : 'update'
}
