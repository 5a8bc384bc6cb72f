import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { ReplicaSetLike } from './replica-set-like.ts'
import { rankForDeletion } from '../shared/rank-for-deletion.ts'

export interface ReplicasPlan {
  readonly create: number
  readonly delete: readonly Stored<Pod>[]
}

/** Maximum number of pods created or deleted by one reconcile; the next one continues. */
const burstReplicas = 500

/** Creates or deletes pods to reach the desired number of active pods. */
export function planReplicas(world: ReplicasWorld): ReplicasPlan {
  const { set, pods, related, nowMs } = world
  const missing = (set.spec?.replicas ?? 1) - pods.length
  if (missing >= 0) return { create: Math.min(missing, burstReplicas), delete: [] }
  const ranked = rankForDeletion(pods, { related: related(), nowMs })
  return { create: 0, delete: ranked.slice(0, Math.min(-missing, burstReplicas)) }
}

export interface ReplicasWorld {
  readonly set: ReplicaSetLike
  /** Active pods of the set. */
  readonly pods: readonly Stored<Pod>[]
  /** Active pods of related sets, used to rank pods for deletion; evaluated only when scaling down. */
  readonly related: () => readonly Pod[]
  readonly nowMs: number
}
