import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Bounds } from './bounds.ts'
import type { Revisions } from './revisions.ts'
import { sizeOf } from './revisions.ts'

/** New size by ReplicaSet; ReplicaSets not in the map keep their size. */
export type Sizes = ReadonlyMap<ReplicaSet, number>

/**
 * One step of a rolling update: scales the new ReplicaSet up as far as `replicasMax` allows and the old ones
 * down as far as `availableMin` allows. Both limits hold at any time: the room for new pods is computed
 * before anything is deleted, and only pods reported as available count towards `availableMin`.
 */
export function planRolling(revisions: Revisions & { readonly present: ReplicaSet }, bounds: Bounds): Sizes {
  const { present, old } = revisions
  const grown = growPresent(sizeOf(present), sum(old, sizeOf), bounds)
  const sizes = new Map<ReplicaSet, number>(old.map(set => [set, sizeOf(set)]))
  const presentAvailable = Math.min(grown, availableAtLeast(present))
  removeUnhealthy(sizes, sum(old, sizeOf) + presentAvailable - bounds.availableMin)
  removeSpare(sizes, presentAvailable - bounds.availableMin)
  sizes.set(present, grown)
  return new Map([...sizes].filter(([set, size]) => size !== sizeOf(set)))
}

/** The size of the new ReplicaSet, given the total size of the old ones. */
export function growPresent(size: number, oldSize: number, { replicas, replicasMax }: Bounds): number {
  const room = Math.max(0, replicasMax - oldSize - size)
  return Math.min(replicas, size + room)
}

/**
 * Scales down old ReplicaSets with unavailable pods, which would otherwise block the rollout forever. At
 * least `availableMin` pods remain, since they may become available.
 */
function removeUnhealthy(sizes: Map<ReplicaSet, number>, spare: number): void {
  let left = spare
  for (const [set, size] of sizes) {
    const removed = Math.min(Math.max(0, left), Math.max(0, size - availableAtMost(set)))
    sizes.set(set, size - removed)
    left -= removed
  }
}

/** Scales down available pods beyond `availableMin`, oldest ReplicaSet first. */
function removeSpare(sizes: Map<ReplicaSet, number>, spareOfPresent: number): void {
  let left = spareOfPresent
  for (const [set, size] of sizes) left += Math.min(size, availableAtLeast(set))
  for (const [set, size] of sizes) {
    const removed = Math.min(Math.max(0, left), size)
    sizes.set(set, size - removed)
    left -= removed
  }
}

/**
 * Number of pods that are available and will remain so. Zero if the status is stale, since it may count pods
 * that a scale-down has already deleted.
 */
export function availableAtLeast(set: ReplicaSet): number {
  return hasObserved(set) ? Math.min(sizeOf(set), set.status?.availableReplicas ?? 0) : 0
}

function availableAtMost(set: ReplicaSet): number {
  return hasObserved(set) ? Math.min(sizeOf(set), set.status?.availableReplicas ?? 0) : sizeOf(set)
}

/** True if the ReplicaSet's status is up to date with its spec. */
export function hasObserved({ metadata, status }: ReplicaSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0)
}

export function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number {
  return sets.reduce((total, set) => total + count(set), 0)
}
