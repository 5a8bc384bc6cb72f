import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { compareInt64, int32Max } from '#/api/text/int64.ts'
import { isBeingDeleted, type Named, type Stored } from '#/api/metadata.ts'
import { rolloutLimitsOf } from './rollout-limits.ts'
import {
  buildReplicaSet,
  nextRevision,
  revisionOf,
  revisionsOf,
  replicasOf,
  withRevision,
  withReplicas,
  type Revisions,
} from './revisions.ts'
import {
  newReplicaSetReplicas,
  isStatusCurrent,
  planRollingUpdate,
  sum,
  type ReplicasBySet,
} from './rolling-update.ts'
import { isScaled, planProportionalScaling } from './proportional-scaling.ts'
import { countReplicas, isComplete } from './status.ts'

export interface DeploymentWorld {
  readonly deployment: Stored<Deployment>
  /** All ReplicaSets that the Deployment controls. */
  readonly replicaSets: readonly Stored<ReplicaSet>[]
  /** True if the ReplicaSet has pods that may still be running, including terminating ones. */
  readonly hasRunningPods: (replicaSet: Stored<ReplicaSet>) => boolean
}

/** Writes to perform, in this order. Execution may be interrupted after any of them. */
export interface DeploymentPlan {
  /** The new ReplicaSet, if it does not exist yet. */
  readonly create: Named<ReplicaSet> | undefined
  /** Sorted by growth: scale-downs come before scale-ups. */
  readonly change: readonly ReplicaSetChange[]
  readonly remove: readonly Stored<ReplicaSet>[]
  /** True for a rollout to the current template; false if the Deployment is only scaled, or paused. */
  readonly isRollout: boolean
}

export interface ReplicaSetChange {
  readonly before: Stored<ReplicaSet>
  readonly after: ReplicaSet
}

export function planDeployment(world: DeploymentWorld): DeploymentPlan {
  const { deployment, replicaSets } = world
  const revisions = revisionsOf(deployment, replicaSets)
  if (isBeingDeleted(deployment)) return { create: undefined, change: [], remove: [], isRollout: false }
  if (deployment.spec?.paused) {
    const plan = planReplicaChanges(deployment, revisions, planProportionalScaling(deployment, revisions))
    const remove = planCleanup(deployment, revisions).filter(set =>
      plan.change.every(({ before }) => before !== set),
    )
    return { ...plan, remove, isRollout: false }
  }
  if (isScaled(revisions, rolloutLimitsOf(deployment))) {
    const plan = planReplicaChanges(deployment, revisions, planProportionalScaling(deployment, revisions))
    if (plan.change.length > 0) return { ...plan, isRollout: false }
  }
  return deployment.spec?.strategy?.type === 'Recreate'
    ? planRolloutRecreate(world, revisions)
    : planRolloutRolling(deployment, revisions)
}

function planRolloutRolling(deployment: Stored<Deployment>, revisions: Revisions): DeploymentPlan {
  const create = revisions.newReplicaSet ? undefined : planNewReplicaSet(deployment, revisions)
  const newReplicaSet = revisions.newReplicaSet ?? create!
  const replicasBySet = planRollingUpdate({ ...revisions, newReplicaSet }, rolloutLimitsOf(deployment))
  return {
    ...planReplicaChanges(deployment, revisions, replicasBySet),
    create,
    ...planEnd(deployment, revisions),
  }
}

/**
 * Recreate strategy: scales all old ReplicaSets to zero, and scales up the new one only after the last old
 * pod has stopped.
 */
function planRolloutRecreate(
  { deployment, hasRunningPods }: DeploymentWorld,
  revisions: Revisions,
): DeploymentPlan {
  const { newReplicaSet, old } = revisions
  const { replicas } = rolloutLimitsOf(deployment)
  const active = old.filter(set => replicasOf(set) > 0)
  const isOldThere = old.some(set => {
    return (
      replicasOf(set) > 0 || !isStatusCurrent(set) || (set.status?.replicas ?? 0) > 0 || hasRunningPods(set)
    )
  })
  const replicasBySet = isOldThere
    ? active.map(set => [set, 0] as const)
    : newReplicaSet && replicasOf(newReplicaSet) !== replicas
      ? [[newReplicaSet, replicas] as const]
      : []
  const create = isOldThere || newReplicaSet ? undefined : planNewReplicaSet(deployment, revisions)
  return {
    ...planReplicaChanges(deployment, revisions, new Map(replicasBySet)),
    create,
    ...planEnd(deployment, revisions),
  }
}

function planNewReplicaSet(deployment: Stored<Deployment>, { old }: Revisions): Named<ReplicaSet> {
  const limits = rolloutLimitsOf(deployment)
  const replicas = newReplicaSetReplicas({ current: 0, old: sum(old, replicasOf) }, limits)
  return buildReplicaSet({ deployment, limits, replicas, revision: nextRevision(old) })
}

function planEnd(deployment: Deployment, revisions: Revisions): Pick<DeploymentPlan, 'remove' | 'isRollout'> {
  const { newReplicaSet, old } = revisions
  const counts = countReplicas({ newReplicaSet, replicaSets: newReplicaSet ? [...old, newReplicaSet] : old })
  const isDone = newReplicaSet !== undefined && isComplete(deployment, counts)
  return { remove: isDone ? planCleanup(deployment, revisions) : [], isRollout: true }
}

/** One write for each ReplicaSet with a changed size, and for changed annotations of the new ReplicaSet. */
function planReplicaChanges(
  deployment: Deployment,
  { newReplicaSet, old }: Revisions,
  replicasBySet: ReplicasBySet,
): Omit<DeploymentPlan, 'isRollout'> {
  const limits = rolloutLimitsOf(deployment)
  const marked = newReplicaSet && withRevision(newReplicaSet, deployment, nextRevision(old))
  const changes = [...old, ...(newReplicaSet ? [newReplicaSet] : [])].flatMap(before => {
    const size = replicasBySet.get(before)
    const base = before === newReplicaSet && marked ? marked : before
    const after = size === undefined ? base : withReplicas(base, size, limits)
    return after === before ? [] : [{ before, after }]
  })
  const growth = ({ before, after }: ReplicaSetChange): number => replicasOf(after) - replicasOf(before)
  return {
    create: undefined,
    change: changes.toSorted((left, right) => growth(left) - growth(right)),
    remove: [],
  }
}

/**
 * Old ReplicaSets beyond `revisionHistoryLimit`, oldest revision first, except those that still have pods.
 */
function planCleanup(deployment: Deployment, { old }: Revisions): readonly Stored<ReplicaSet>[] {
  const { revisionHistoryLimit: limit = int32Max } = deployment.spec ?? {}
  const kept = old.filter(set => !isBeingDeleted(set))
  if (limit === int32Max || kept.length <= limit) return []
  return kept
    .toSorted((left, right) => compareInt64(revisionOf(left) ?? 0n, revisionOf(right) ?? 0n))
    .slice(0, kept.length - limit)
    .filter(set => replicasOf(set) === 0 && (set.status?.replicas ?? 0) === 0 && isStatusCurrent(set))
}
