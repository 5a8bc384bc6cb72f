import type { Pod } from '#/api/generated/core/v1.ts'
import type { ReplicatedSet } from './replica-set-like.ts'
import { rankVictims } from '../shared/rank-for-deletion.ts'

export interface ReplicasPlan {
  readonly create: number
  readonly delete: readonly Pod[]
}

/** Maximum number of pods created or deleted by one reconcile; the next one continues. */
const burstMax = 500

/** Creates or deletes pods to reach the desired number of active pods. */
export function planReplicas(world: ReplicasWorld): ReplicasPlan {
  const { set, pods, related, nowMs } = world
  const missing = (set.spec?.replicas ?? 1) - pods.length
  if (missing >= 0) return { create: Math.min(missing, burstMax), delete: [] }
  const ranked = rankVictims(pods, { related: related(), nowMs })
  return { create: 0, delete: ranked.slice(0, Math.min(-missing, burstMax)) }
}

export interface ReplicasWorld {
  readonly set: ReplicatedSet
  /** Active pods of the set. */
  readonly pods: readonly Pod[]
  /** Active pods of related sets, used to rank pods for deletion; evaluated only when scaling down. */
  readonly related: () => readonly Pod[]
  readonly nowMs: number
}
