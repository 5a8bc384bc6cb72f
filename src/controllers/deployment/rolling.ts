import type { ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Bounds } from './bounds.ts'
import type { Revisions } from './revisions.ts'
import { sizeOf } from './revisions.ts'

/** How many pods each replica set is to have; those that are not in here stay as they are. */
export type Sizes = ReadonlyMap<ReplicaSet, number>

/**
 * One step of a rolling update: the present revision gets all the pods that there is room for, the old ones lose all
 * that can be spared. Both hold at once, since room is counted before anything goes, and what can be spared is counted
 * as if nothing of the new will ever be available.
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

/** The size of the present revision, given how many pods the old ones have. */
export function growPresent(size: number, oldSize: number, { replicas, replicasMax }: Bounds): number {
  const room = Math.max(0, replicasMax - oldSize - size)
  return Math.min(replicas, size + room)
}

/**
 * Pods that are not available are of no use to anybody, and would hold up the rollout for ever. There must stay as
 * many pods as have to be available, though, for these may be on their way.
 */
function removeUnhealthy(sizes: Map<ReplicaSet, number>, spare: number): void {
  let left = spare
  for (const [set, size] of sizes) {
    const removed = Math.min(Math.max(0, left), Math.max(0, size - availableAtMost(set)))
    sizes.set(set, size - removed)
    left -= removed
  }
}

/** Those that are available beyond what has to be, the oldest first. */
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
 * Pods that are available and stay so. While a replica set has not been told of its last size, its status may count
 * pods that an earlier one has removed.
 */
export function availableAtLeast(set: ReplicaSet): number {
  return hasObserved(set) ? Math.min(sizeOf(set), set.status?.availableReplicas ?? 0) : 0
}

function availableAtMost(set: ReplicaSet): number {
  return hasObserved(set) ? Math.min(sizeOf(set), set.status?.availableReplicas ?? 0) : sizeOf(set)
}

/** Whether the status of a replica set is about what it is asked for now. */
export function hasObserved({ metadata, status }: ReplicaSet): boolean {
  return (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 0)
}

export function sum(sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number {
  return sets.reduce((total, set) => total + count(set), 0)
}
