/**
 * Proportional scaling: when a Deployment is scaled while several ReplicaSets have pods, each grows or
 * shrinks by its share, so that scaling does not advance a possibly bad rollout.
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#proportional-scaling
 */
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { rolloutLimitsOf, type RolloutLimits } from './rollout-limits.ts'
import {
  byAge,
  replicasAnnotationOf,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  replicasOf,
  type Revisions,
} from './revisions.ts'
import { availableAtLeast, sum, type ReplicasBySet } from './rolling-update.ts'

/** True if the Deployment was scaled after its ReplicaSets. */
export function isScaled(revisions: Revisions, { replicas }: RolloutLimits): boolean {
  return activeOf(revisions).some(set => {
    const desired = replicasAnnotationOf(set, desiredReplicasAnnotation)
    return desired !== undefined && desired !== replicas
  })
}

/** New sizes. Includes unchanged sizes, since the annotations of those ReplicaSets must be updated. */
export function planProportionalScaling(deployment: Deployment, revisions: Revisions): ReplicasBySet {
  const limits = rolloutLimitsOf(deployment)
  const { newReplicaSet, old } = revisions
  const active = activeOf(revisions)
  if (active.length <= 1) {
    const only = active[0] ?? newReplicaSet ?? old.at(-1)
    return new Map(only && [[only, limits.replicas]])
  }
  if (newReplicaSet !== undefined && isSaturated(newReplicaSet, limits)) {
    return new Map(active.filter(set => set !== newReplicaSet).map(set => [set, 0]))
  }
  // With Recreate only one ReplicaSet may have pods.
  if (deployment.spec?.strategy?.type === 'Recreate') return new Map()
  return planShares(active, limits, deployment.status?.replicas ?? 0)
}

function activeOf({ newReplicaSet, old }: Revisions): readonly Stored<ReplicaSet>[] {
  return [...old, ...(newReplicaSet ? [newReplicaSet] : [])].filter(set => replicasOf(set) > 0)
}

/** True if the ReplicaSet has all desired pods and all are available. */
function isSaturated(set: ReplicaSet, { replicas }: RolloutLimits): boolean {
  return (
    replicasOf(set) === replicas &&
    replicasAnnotationOf(set, desiredReplicasAnnotation) === replicas &&
    availableAtLeast(set) === replicas
  )
}

function planShares(
  active: readonly Stored<ReplicaSet>[],
  limits: RolloutLimits,
  deploymentSize: number,
): ReplicasBySet {
  const allowed = limits.replicas === 0 ? 0 : limits.maxReplicas
  const change = allowed - sum(active, replicasOf)
  // The largest ReplicaSet absorbs the rounding error. Of equal ones, the newest grows first and the oldest
  // shrinks first.
  const sorted = active.toSorted((left, right) => {
    return replicasOf(right) - replicasOf(left) || (change > 0 ? -byAge(left, right) : byAge(left, right))
  })
  const replicasBySet = new Map<ReplicaSet, number>()
  let left = change
  for (const set of sorted) {
    const share = limit(shareOf(set, limits, deploymentSize), left)
    replicasBySet.set(set, replicasOf(set) + share)
    left -= share
  }
  const [largest] = sorted
  if (largest) replicasBySet.set(largest, Math.max(0, replicasBySet.get(largest)! + left))
  keepAvailable(replicasBySet, limits)
  return replicasBySet
}

/**
 * Corrects rounding that would delete pods needed for `minAvailable`: unavailable pods are deleted instead.
 */
function keepAvailable(replicasBySet: Map<ReplicaSet, number>, { minAvailable }: RolloutLimits): void {
  let available = 0
  let unavailable = 0
  for (const [set, size] of replicasBySet) {
    available += Math.min(size, availableAtLeast(set))
    unavailable += Math.max(0, size - availableAtLeast(set))
  }
  const lost = sum([...replicasBySet.keys()], set =>
    Math.max(0, availableAtLeast(set) - replicasBySet.get(set)!),
  )
  const moved = Math.min(minAvailable - available, unavailable, lost)
  let given = moved
  let taken = moved
  for (const [set, size] of replicasBySet) {
    const spare = size - availableAtLeast(set)
    const change = spare < 0 ? Math.max(0, Math.min(-spare, given)) : -Math.max(0, Math.min(spare, taken))
    if (change > 0) given -= change
    else taken += change
    replicasBySet.set(set, size + change)
  }
}

/** Change of a ReplicaSet's size in proportion to the Deployment's. */
function shareOf(set: ReplicaSet, { replicas, maxReplicas }: RolloutLimits, deploymentSize: number): number {
  const size = replicasOf(set)
  if (replicas === 0) return -size
  // Falls back to the Deployment's current size if the annotation was removed.
  const before = replicasAnnotationOf(set, maxReplicasAnnotation) || deploymentSize
  return before === 0 ? 0 : Math.round((size * maxReplicas) / before) - size
}

/** Limits a share to the remaining total change. */
function limit(share: number, left: number): number {
  if (left === 0) return 0
  return left > 0 ? Math.min(share, left) : Math.max(share, left)
}
