import type { Pod } from '#/api/generated/core/v1.ts'
import type { ReplicatedSet } from './replicated-set.ts'
import { rankVictims } from './victims.ts'

export interface ReplicasPlan {
  readonly create: number
  readonly delete: readonly Pod[]
}

/** Pods that one pass makes or removes; the next pass does the rest. */
const burstMax = 500

/** What makes the active pods of a set as many as it wants. */
export function planReplicas(world: ReplicasWorld): ReplicasPlan {
  const { set, pods, related, nowMs } = world
  const missing = (set.spec?.replicas ?? 1) - pods.length
  if (missing >= 0) return { create: Math.min(missing, burstMax), delete: [] }
  const ranked = rankVictims(pods, { related: related(), nowMs })
  return { create: 0, delete: ranked.slice(0, Math.min(-missing, burstMax)) }
}

export interface ReplicasWorld {
  readonly set: ReplicatedSet
  /** Those of the set that are active. */
  readonly pods: readonly Pod[]
  /** Active pods that are spread over nodes together with these; asked for only when some of these must go. */
  readonly related: () => readonly Pod[]
  readonly nowMs: number
}
