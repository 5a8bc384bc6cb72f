/**
 * Proportional scaling: when a Deployment is scaled while several ReplicaSets have pods, each grows or
 * shrinks by its share, so that scaling does not advance a possibly bad rollout.
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#proportional-scaling
 */
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { boundsOf, type Bounds } from './bounds.ts'
import {
  byAge,
  countOnSet,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  sizeOf,
  type Revisions,
} from './revisions.ts'
import { availableAtLeast, sum, type Sizes } from './rolling.ts'

/** True if the Deployment was scaled after its ReplicaSets. */
export function isScaled(revisions: Revisions, { replicas }: Bounds): boolean {
  return activeOf(revisions).some(set => {
    const desired = countOnSet(set, desiredReplicasAnnotation)
    return desired !== undefined && desired !== replicas
  })
}

/** New sizes. Includes unchanged sizes, since the annotations of those ReplicaSets must be updated. */
export function planScaling(deployment: Deployment, revisions: Revisions): Sizes {
  const bounds = boundsOf(deployment)
  const { present, old } = revisions
  const active = activeOf(revisions)
  if (active.length <= 1) {
    const only = active[0] ?? present ?? old.at(-1)
    return new Map(only && [[only, bounds.replicas]])
  }
  if (present !== undefined && isSaturated(present, bounds)) {
    return new Map(active.filter(set => set !== present).map(set => [set, 0]))
  }
  // With Recreate only one ReplicaSet may have pods.
  if (deployment.spec?.strategy?.type === 'Recreate') return new Map()
  return planShares(active, bounds, deployment.status?.replicas ?? 0)
}

function activeOf({ present, old }: Revisions): readonly ReplicaSet[] {
  return [...old, ...(present ? [present] : [])].filter(set => sizeOf(set) > 0)
}

/** True if the ReplicaSet has all desired pods and all are available. */
function isSaturated(set: ReplicaSet, { replicas }: Bounds): boolean {
  return (
    sizeOf(set) === replicas &&
    countOnSet(set, desiredReplicasAnnotation) === replicas &&
    availableAtLeast(set) === replicas
  )
}

function planShares(active: readonly ReplicaSet[], bounds: Bounds, deploymentSize: number): Sizes {
  const allowed = bounds.replicas === 0 ? 0 : bounds.replicasMax
  const change = allowed - sum(active, sizeOf)
  // The largest ReplicaSet absorbs the rounding error. Of equal ones, the newest grows first and the oldest
  // shrinks first.
  const sorted = active.toSorted((left, right) => {
    return sizeOf(right) - sizeOf(left) || (change > 0 ? -byAge(left, right) : byAge(left, right))
  })
  const sizes = new Map<ReplicaSet, number>()
  let left = change
  for (const set of sorted) {
    const share = limit(shareOf(set, bounds, deploymentSize), left)
    sizes.set(set, sizeOf(set) + share)
    left -= share
  }
  const [largest] = sorted
  if (largest) sizes.set(largest, Math.max(0, sizes.get(largest)! + left))
  keepAvailable(sizes, bounds)
  return sizes
}

/**
 * Corrects rounding that would delete pods needed for `availableMin`: unavailable pods are deleted instead.
 */
function keepAvailable(sizes: Map<ReplicaSet, number>, { availableMin }: Bounds): void {
  let available = 0
  let unavailable = 0
  for (const [set, size] of sizes) {
    available += Math.min(size, availableAtLeast(set))
    unavailable += Math.max(0, size - availableAtLeast(set))
  }
  const lost = sum([...sizes.keys()], set => Math.max(0, availableAtLeast(set) - sizes.get(set)!))
  const moved = Math.min(availableMin - available, unavailable, lost)
  let given = moved
  let taken = moved
  for (const [set, size] of sizes) {
    const spare = size - availableAtLeast(set)
    const change = spare < 0 ? Math.max(0, Math.min(-spare, given)) : -Math.max(0, Math.min(spare, taken))
    if (change > 0) given -= change
    else taken += change
    sizes.set(set, size + change)
  }
}

/** Change of a ReplicaSet's size in proportion to the Deployment's. */
function shareOf(set: ReplicaSet, { replicas, replicasMax }: Bounds, deploymentSize: number): number {
  const size = sizeOf(set)
  if (replicas === 0) return -size
  // Falls back to the Deployment's current size if the annotation was removed.
  const before = countOnSet(set, maxReplicasAnnotation) || deploymentSize
  return before === 0 ? 0 : Math.round((size * replicasMax) / before) - size
}

/** Limits a share to the remaining total change. */
function limit(share: number, left: number): number {
  if (left === 0) return 0
  return left > 0 ? Math.min(share, left) : Math.max(share, left)
}
