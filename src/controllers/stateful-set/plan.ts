import type { StatefulSet } from '#/api/generated/apps/v1.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { isPodFinished } from '../pods.ts'
import { hasLeftoverClaim, planClaims, type ClaimsPlan } from './claims.ts'
import { podName, withIdentity } from './identity.ts'
import { isHealthy, isUnavailable, layOut, type Layout, type Member, type Slot } from './layout.ts'
import { outdatedPods, revisionFor } from './update.ts'

/** Performed in this order; a failure stops the rest. */
export interface StatefulSetPlan {
  /** Actions by ordinal. */
  readonly replicas: readonly ReplicaAction[]
  /** Owner references of surplus pods' claims, corrected before the pods are deleted. */
  readonly claims: readonly ClaimsPlan[]
  /** Surplus pods, and pods with an outdated revision. */
  readonly delete: readonly Pod[]
}

export type ReplicaAction =
  | {
      readonly do: 'create'
      readonly ordinal: number
      readonly revision: 'current' | 'update'
      readonly claims: ClaimsPlan
    }
  /** The pod has finished and will be recreated. */
  | { readonly do: 'delete'; readonly pod: Pod }
  | {
      readonly do: 'repair'
      /** The desired pod; the same object if only claims change. */
      readonly pod: Pod
      readonly isChanged: boolean
      readonly claims: ClaimsPlan
    }

export interface StatefulSetWorld {
  readonly set: StatefulSet
  /** All pods that the set controls. */
  readonly pods: readonly Pod[]
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
  const layout = layOut(world.set, world.pods)
  return world.set.spec?.podManagementPolicy === 'Parallel'
    ? planParallel(layout, world)
    : planOrdered(layout, world)
}

function planOrdered(layout: Layout, world: StatefulSetWorld): StatefulSetPlan {
  const replicas: ReplicaAction[] = []
  for (const slot of layout.slots) {
    const action = planReplica(slot, layout, world)
    if (action) replicas.push(action)
    const isWell = slot.pod !== undefined && !isPodFinished(slot.pod) && isWellNow(slot.pod, world)
    if (!isWell) return { replicas, claims: [], delete: [] }
  }
  const [last] = layout.surplus
  if (last === undefined) return { replicas, claims: [], delete: outdatedPods(layout, world) }
  const claims = claimsOfSurplus(layout, world)
  // An unhealthy pod is deleted only if no surplus pod with a lower ordinal is unhealthy.
  const firstUnwell = layout.surplus.findLast(({ pod }) => isUnavailable(pod, world.set, world.nowMs))
  const mayGo = !isBeingDeleted(last.pod) && (isWellNow(last.pod, world) || last === firstUnwell)
  return { replicas, claims, delete: mayGo ? [last.pod] : [] }
}

function planParallel(layout: Layout, world: StatefulSetWorld): StatefulSetPlan {
  const replicas = layout.slots.flatMap(slot => planReplica(slot, layout, world) ?? [])
  const surplus = layout.surplus.map(({ pod }) => pod).filter(pod => !isBeingDeleted(pod))
  return {
    replicas,
    claims: claimsOfSurplus(layout, world),
    delete: [...surplus, ...outdatedPods(layout, world)],
  }
}

function planReplica(slot: Slot, { slots }: Layout, world: StatefulSetWorld): ReplicaAction | undefined {
  const { set, claimOf } = world
  const { ordinal, pod } = slot
  if (pod === undefined) {
    const newPod = { metadata: { name: podName(set, ordinal) } }
    if (hasLeftoverClaim({ set, ordinal, pod: newPod, claimOf })) return undefined
    const claims = planClaims({ set, ordinal, isSurplus: false, pod: newPod, claimOf })
    return { do: 'create', ordinal, revision: revisionFor(ordinal, slots, world), claims }
  }
  if (isBeingDeleted(pod)) return undefined
  if (isPodFinished(pod)) return { do: 'delete', pod }
  return planRepair({ ordinal, pod }, world)
}

function planRepair({ ordinal, pod }: Member, world: StatefulSetWorld): ReplicaAction | undefined {
  const { set, claimOf } = world
  const isPending = pod.status?.phase === 'Pending'
  // In an ordered set the identity is repaired only once the pod is healthy.
  const isForAll = set.spec?.podManagementPolicy === 'Parallel' || isWellNow(pod, world)
  if (!isPending && !isForAll) return undefined
  const all = planClaims({ set, ordinal, isSurplus: false, pod, claimOf })
  // A running pod already has its claims.
  const claims = isPending ? all : { ...all, create: [], going: [] }
  const repaired = isForAll ? withIdentity(set, pod, ordinal) : pod
  if (repaired === pod && isNothing(claims)) return undefined
  return { do: 'repair', pod: repaired, isChanged: repaired !== pod, claims }
}

function claimsOfSurplus({ surplus }: Layout, { set, claimOf }: StatefulSetWorld): readonly ClaimsPlan[] {
  return surplus
    .map(({ ordinal, pod }) => planClaims({ set, ordinal, isSurplus: true, pod, claimOf }))
    .map(claims => ({ ...claims, create: [], going: [] }))
    .filter(claims => !isNothing(claims))
}

function isNothing({ create, update, going }: ClaimsPlan): boolean {
  return create.length === 0 && update.length === 0 && going.length === 0
}

function isWellNow(pod: Pod, { set, nowMs }: StatefulSetWorld): boolean {
  return isHealthy(pod, set, nowMs)
}
