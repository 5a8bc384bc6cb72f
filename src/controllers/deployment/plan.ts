import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { compareInt64, int32Max } from '#/api/int64.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { boundsOf } from './bounds.ts'
import {
  newReplicaSet,
  nextRevision,
  revisionOf,
  revisionsOf,
  sizeOf,
  withPresence,
  withSize,
  type Revisions,
} from './revisions.ts'
import { growPresent, hasObserved, planRolling, sum, type Sizes } from './rolling.ts'
import { isScaled, planScaling } from './scaling.ts'
import { countReplicas, isComplete } from './status.ts'

export interface DeploymentWorld {
  readonly deployment: Deployment
  /** All ReplicaSets that the Deployment controls. */
  readonly replicaSets: readonly ReplicaSet[]
  /** True if the ReplicaSet has pods that may still be running, including terminating ones. */
  readonly hasRunningPods: (replicaSet: ReplicaSet) => boolean
}

/** Writes to perform, in this order. Execution may be interrupted after any of them. */
export interface DeploymentPlan {
  /** The new ReplicaSet, if it does not exist yet. */
  readonly create: ReplicaSet | undefined
  /** Sorted by growth: scale-downs come before scale-ups. */
  readonly change: readonly ReplicaSetChange[]
  readonly remove: readonly ReplicaSet[]
  /** True for a rollout to the current template; false if the Deployment is only scaled, or paused. */
  readonly isRollout: boolean
}

export interface ReplicaSetChange {
  readonly before: ReplicaSet
  readonly after: ReplicaSet
}

export function planDeployment(world: DeploymentWorld): DeploymentPlan {
  const { deployment, replicaSets } = world
  const revisions = revisionsOf(deployment, replicaSets)
  if (isBeingDeleted(deployment)) return { create: undefined, change: [], remove: [], isRollout: false }
  if (deployment.spec?.paused) {
    const plan = planSizes(deployment, revisions, planScaling(deployment, revisions))
    const remove = planHistory(deployment, revisions).filter(set =>
      plan.change.every(({ before }) => before !== set),
    )
    return { ...plan, remove, isRollout: false }
  }
  if (isScaled(revisions, boundsOf(deployment))) {
    const plan = planSizes(deployment, revisions, planScaling(deployment, revisions))
    if (plan.change.length > 0) return { ...plan, isRollout: false }
  }
  return deployment.spec?.strategy?.type === 'Recreate'
    ? planRecreate(world, revisions)
    : planRollingUpdate(deployment, revisions)
}

function planRollingUpdate(deployment: Deployment, revisions: Revisions): DeploymentPlan {
  const create = revisions.present ? undefined : planPresent(deployment, revisions)
  const present = revisions.present ?? create!
  const sizes = planRolling({ ...revisions, present }, boundsOf(deployment))
  return { ...planSizes(deployment, revisions, sizes), create, ...planEnd(deployment, revisions) }
}

/**
 * Recreate strategy: scales all old ReplicaSets to zero, and scales up the new one only after the last old
 * pod has stopped.
 */
function planRecreate({ deployment, hasRunningPods }: DeploymentWorld, revisions: Revisions): DeploymentPlan {
  const { present, old } = revisions
  const { replicas } = boundsOf(deployment)
  const active = old.filter(set => sizeOf(set) > 0)
  const isOldThere = old.some(set => {
    return sizeOf(set) > 0 || !hasObserved(set) || (set.status?.replicas ?? 0) > 0 || hasRunningPods(set)
  })
  const sizes = isOldThere
    ? active.map(set => [set, 0] as const)
    : present && sizeOf(present) !== replicas
      ? [[present, replicas] as const]
      : []
  const create = isOldThere || present ? undefined : planPresent(deployment, revisions)
  return { ...planSizes(deployment, revisions, new Map(sizes)), create, ...planEnd(deployment, revisions) }
}

function planPresent(deployment: Deployment, { old }: Revisions): ReplicaSet {
  const bounds = boundsOf(deployment)
  const size = growPresent(0, sum(old, sizeOf), bounds)
  return newReplicaSet({ deployment, bounds, size, revision: nextRevision(old) })
}

function planEnd(deployment: Deployment, revisions: Revisions): Pick<DeploymentPlan, 'remove' | 'isRollout'> {
  const { present, old } = revisions
  const counts = countReplicas({ present, replicaSets: present ? [...old, present] : old })
  const isDone = present !== undefined && isComplete(deployment, counts)
  return { remove: isDone ? planHistory(deployment, revisions) : [], isRollout: true }
}

/** One write for each ReplicaSet with a changed size, and for changed annotations of the new ReplicaSet. */
function planSizes(
  deployment: Deployment,
  { present, old }: Revisions,
  sizes: Sizes,
): Omit<DeploymentPlan, 'isRollout'> {
  const bounds = boundsOf(deployment)
  const marked = present && withPresence(present, deployment, nextRevision(old))
  const changes = [...old, ...(present ? [present] : [])].flatMap(before => {
    const size = sizes.get(before)
    const base = before === present && marked ? marked : before
    const after = size === undefined ? base : withSize(base, size, bounds)
    return after === before ? [] : [{ before, after }]
  })
  const growth = ({ before, after }: ReplicaSetChange): number => sizeOf(after) - sizeOf(before)
  return {
    create: undefined,
    change: changes.toSorted((left, right) => growth(left) - growth(right)),
    remove: [],
  }
}

/**
 * Old ReplicaSets beyond `revisionHistoryLimit`, oldest revision first, except those that still have pods.
 */
function planHistory(deployment: Deployment, { old }: Revisions): readonly ReplicaSet[] {
  const { revisionHistoryLimit: limit = int32Max } = deployment.spec ?? {}
  const kept = old.filter(set => !isBeingDeleted(set))
  if (limit === int32Max || kept.length <= limit) return []
  return kept
    .toSorted((left, right) => compareInt64(revisionOf(left) ?? 0n, revisionOf(right) ?? 0n))
    .slice(0, kept.length - limit)
    .filter(set => sizeOf(set) === 0 && (set.status?.replicas ?? 0) === 0 && hasObserved(set))
}
