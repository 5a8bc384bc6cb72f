/**
 * A deployment that wants another number of pods while several of its revisions have some: each grows or shrinks by
 * its share, so that scaling does not push a rollout forward that may be a bad one.
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

/** Whether the deployment was scaled since its replica sets were. */
export function isScaled(revisions: Revisions, { replicas }: Bounds): boolean {
  return activeOf(revisions).some(set => {
    const desired = countOnSet(set, desiredReplicasAnnotation)
    return desired !== undefined && desired !== replicas
  })
}

/** Those in here are scaled, also to the size that they have: what is noted on them is out of date. */
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
  // There is no sharing between revisions of which only one may have pods.
  if (deployment.spec?.strategy?.type === 'Recreate') return new Map()
  return planShares(active, bounds, deployment.status?.replicas ?? 0)
}

function activeOf({ present, old }: Revisions): readonly ReplicaSet[] {
  return [...old, ...(present ? [present] : [])].filter(set => sizeOf(set) > 0)
}

/** Has all the pods that the deployment wants, and all are available. */
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
  // The largest bears the rounding. Among equals the new grow first and the old shrink first.
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

/** Shares are rounded. Where that would take pods that have to be available, it takes others instead. */
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

/** By how much a replica set changes when the deployment changes as a whole. */
function shareOf(set: ReplicaSet, { replicas, replicasMax }: Bounds, deploymentSize: number): number {
  const size = sizeOf(set)
  if (replicas === 0) return -size
  // Without the note, which somebody took away, the size of the deployment has to do.
  const before = countOnSet(set, maxReplicasAnnotation) || deploymentSize
  return before === 0 ? 0 : Math.round((size * replicasMax) / before) - size
}

/** No more than what is left to give or to take. */
function limit(share: number, left: number): number {
  if (left === 0) return 0
  return left > 0 ? Math.min(share, left) : Math.max(share, left)
}
