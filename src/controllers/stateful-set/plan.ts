import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { isPodTerminal } from '../pods.ts'
import { hasStaleClaim, planClaims, type ClaimsPlan } from './claims.ts'
import { withIdentity } from './identity.ts'
import {
  isHealthy,
  isUnavailable,
  partitionByOrdinal,
  type OrdinalPartition,
  type ExistingReplica,
  type Replica,
} from './partition-by-ordinal.ts'
import { outdatedPods, revisionFor } from './update.ts'

/** Performed in this order; a failure stops the rest. */
export interface StatefulSetPlan {
  /** Actions by ordinal. */
  readonly actions: readonly ReplicaAction[]
  /** Owner references of condemned pods' claims, corrected before the pods are deleted. */
  readonly claims: readonly ClaimsPlan[]
  /** Condemned pods (beyond the desired replicas), and pods with an outdated revision. */
  readonly delete: readonly Stored<Pod>[]
}

export type ReplicaAction =
  | {
      readonly do: 'create'
      readonly ordinal: number
      readonly revision: 'current' | 'update'
      readonly claims: ClaimsPlan
    }
  /** The pod has finished and will be recreated. */
  | { readonly do: 'delete'; readonly pod: Stored<Pod> }
  | {
      readonly do: 'repair'
      /** The desired pod; the same object if only claims change. */
      readonly pod: Stored<Pod>
      readonly isChanged: boolean
      readonly claims: ClaimsPlan
    }

export interface StatefulSetWorld {
  readonly set: Stored<StatefulSet>
  /** All pods that the set controls. */
  readonly pods: readonly Stored<Pod>[]
  readonly claimOf: (name: string) => PersistentVolumeClaim | undefined
  /** Name of the revision of pods that are not updated yet, or are held back by the partition. */
  readonly currentRevision: string
  /** Name of the revision that all pods should have eventually. */
  readonly updateRevision: string
  readonly nowMs: number
}

/**
 * Unless the set is Parallel, acts on one pod at a time: no pod is created while a pod with a lower ordinal
 * is not healthy, none is deleted while another is not healthy, and nothing is updated before all desired
 * pods exist.
 */
export function planStatefulSet(world: StatefulSetWorld): StatefulSetPlan {
  const partition = partitionByOrdinal(world.set, world.pods)
  return world.set.spec?.podManagementPolicy === 'Parallel'
    ? planParallel(partition, world)
    : planOrdered(partition, world)
}

function planOrdered(partition: OrdinalPartition, world: StatefulSetWorld): StatefulSetPlan {
  const actions: ReplicaAction[] = []
  for (const replica of partition.replicas) {
    const action = planReplica(replica, partition, world)
    if (action) actions.push(action)
    const isReplicaHealthy =
      replica.pod !== undefined && !isPodTerminal(replica.pod) && isHealthyNow(replica.pod, world)
    if (!isReplicaHealthy) return { actions, claims: [], delete: [] }
  }
  const [last] = partition.condemned
  if (last === undefined) return { actions, claims: [], delete: outdatedPods(partition, world) }
  const claims = claimsOfCondemned(partition, world)
  // An unhealthy pod is deleted only if no condemned pod with a lower ordinal is unhealthy.
  const firstUnhealthy = partition.condemned.findLast(({ pod }) => isUnavailable(pod, world.set, world.nowMs))
  const mayGo = !isBeingDeleted(last.pod) && (isHealthyNow(last.pod, world) || last === firstUnhealthy)
  return { actions, claims, delete: mayGo ? [last.pod] : [] }
}

function planParallel(partition: OrdinalPartition, world: StatefulSetWorld): StatefulSetPlan {
  const actions = partition.replicas.flatMap(replica => planReplica(replica, partition, world) ?? [])
  const condemned = partition.condemned.map(({ pod }) => pod).filter(pod => !isBeingDeleted(pod))
  return {
    actions,
    claims: claimsOfCondemned(partition, world),
    delete: [...condemned, ...outdatedPods(partition, world)],
  }
}

function planReplica(
  replica: Replica,
  { replicas }: OrdinalPartition,
  world: StatefulSetWorld,
): ReplicaAction | undefined {
  const { set, claimOf } = world
  const { ordinal, pod } = replica
  if (pod === undefined) {
    if (hasStaleClaim({ set, ordinal, pod, claimOf })) return undefined
    const claims = planClaims({ set, ordinal, isCondemned: false, pod, claimOf })
    return { do: 'create', ordinal, revision: revisionFor(ordinal, replicas, world), claims }
  }
  if (isBeingDeleted(pod)) return undefined
  if (isPodTerminal(pod)) return { do: 'delete', pod }
  return planRepair({ ordinal, pod }, world)
}

function planRepair({ ordinal, pod }: ExistingReplica, world: StatefulSetWorld): ReplicaAction | undefined {
  const { set, claimOf } = world
  const isPending = pod.status?.phase === 'Pending'
  // In an ordered set the identity is repaired only once the pod is healthy.
  const isForAll = set.spec?.podManagementPolicy === 'Parallel' || isHealthyNow(pod, world)
  if (!isPending && !isForAll) return undefined
  const all = planClaims({ set, ordinal, isCondemned: false, pod, claimOf })
  // A running pod already has its claims.
  const claims = isPending ? all : { ...all, create: [], terminating: [] }
  const repaired = isForAll ? withIdentity(set, pod, ordinal) : pod
  if (repaired === pod && isNothing(claims)) return undefined
  return { do: 'repair', pod: repaired, isChanged: repaired !== pod, claims }
}

function claimsOfCondemned(
  { condemned }: OrdinalPartition,
  { set, claimOf }: StatefulSetWorld,
): readonly ClaimsPlan[] {
  return condemned
    .map(({ ordinal, pod }) => planClaims({ set, ordinal, isCondemned: true, pod, claimOf }))
    .map(claims => ({ ...claims, create: [], terminating: [] }))
    .filter(claims => !isNothing(claims))
}

function isNothing({ create, update, terminating }: ClaimsPlan): boolean {
  return create.length === 0 && update.length === 0 && terminating.length === 0
}

function isHealthyNow(pod: Pod, { set, nowMs }: StatefulSetWorld): boolean {
  return isHealthy(pod, set, nowMs)
}
