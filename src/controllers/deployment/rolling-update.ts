import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { RolloutLimits } from './rollout-limits.ts'
import type { Revisions } from './revisions.ts'
import { replicasOf } from './revisions.ts'

/** New size by ReplicaSet; ReplicaSets not in the map keep their size. */
export type ReplicasBySet = ReadonlyMap<ReplicaSet, number>

/**
 * One step of a rolling update: scales the new ReplicaSet up as far as `maxReplicas` allows and the old ones
 * down as far as `minAvailable` allows. Both limits hold at any time: the room for new pods is computed
 * before anything is deleted, and only pods reported as available count towards `minAvailable`.
 */
export function planRollingUpdate(
  revisions: Pick<Revisions, 'old'> & { readonly newReplicaSet: ReplicaSet },
  limits: RolloutLimits,
): ReplicasBySet {
  const { newReplicaSet, old } = revisions
  const grown = newReplicaSetReplicas(
    { current: replicasOf(newReplicaSet), old: sum(old, replicasOf) },
    limits,
  )
  const replicasBySet = new Map<ReplicaSet, number>(old.map(set => [set, replicasOf(set)]))
  const newAvailable = Math.min(grown, availableAtLeast(newReplicaSet))
  cleanupUnhealthyReplicas(replicasBySet, sum(old, replicasOf) + newAvailable - limits.minAvailable)
  scaleDownAvailable(replicasBySet, newAvailable - limits.minAvailable)
  replicasBySet.set(newReplicaSet, grown)
  return new Map([...replicasBySet].filter(([set, size]) => size !== replicasOf(set)))
}

/** The size of the new ReplicaSet, given the total size of the old ones. */
export function newReplicaSetReplicas(
  { current, old }: { readonly current: number; readonly old: number },
  { replicas, maxReplicas }: RolloutLimits,
): number {
  const room = Math.max(0, maxReplicas - old - current)
  return Math.min(replicas, current + room)
}

/**
 * Scales down old ReplicaSets with unavailable pods, which would otherwise block the rollout forever. At
 * least `minAvailable` pods remain, since they may become available.
 */
function cleanupUnhealthyReplicas(replicasBySet: Map<ReplicaSet, number>, spare: number): void {
  let left = spare
  for (const [set, size] of replicasBySet) {
    const removed = Math.min(Math.max(0, left), Math.max(0, size - availableAtMost(set)))
    replicasBySet.set(set, size - removed)
    left -= removed
  }
}

/** Scales down available pods beyond `minAvailable`, oldest ReplicaSet first. */
function scaleDownAvailable(replicasBySet: Map<ReplicaSet, number>, spareOfNew: number): void {
  let left = spareOfNew
  for (const [set, size] of replicasBySet) left += Math.min(size, availableAtLeast(set))
  for (const [set, size] of replicasBySet) {
    const removed = Math.min(Math.max(0, left), size)
    replicasBySet.set(set, size - removed)
    left -= removed
  }
}

/**
 * Number of pods that are available and will remain so. Zero if the status is stale, since it may count pods
 * that a scale-down has already deleted.
 */
export function availableAtLeast(set: ReplicaSet): number {
  return isStatusCurrent(set) ? Math.min(replicasOf(set), set.status?.availableReplicas ?? 0) : 0
}

function availableAtMost(set: ReplicaSet): number {
  return isStatusCurrent(set)
    ? Math.min(replicasOf(set), set.status?.availableReplicas ?? 0)
    : replicasOf(set)
}

/** True if the ReplicaSet's status is up to date with its spec. */
export function isStatusCurrent({ metadata, status }: ReplicaSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)
}

export function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number {
  return sets.reduce((total, set) => total + count(set), 0)
}
