import type { Deployment } from '#/api/generated/apps/v1.ts'
import { scaledValueRoundedDown, scaledValueRoundedUp } from '#/api/int-or-string.ts'

/** How many pods a deployment wants, and how far a rollout may depart from that. */
export interface Bounds {
  readonly replicas: number
  /** Replica sets together never want more pods than this. */
  readonly replicasMax: number
  /** The rollout never makes fewer pods available than this. */
  readonly availableMin: number
}

export function boundsOf({ spec }: Pick<Deployment, 'spec'>): Bounds {
  const replicas = spec?.replicas ?? 1
  if (spec?.strategy?.type === 'Recreate') return { replicas, replicasMax: replicas, availableMin: replicas }
  const { maxSurge = 0, maxUnavailable = 0 } = spec?.strategy?.rollingUpdate ?? {}
  const surge = scaledValueRoundedUp(maxSurge, replicas) ?? 0
  const unavailable = scaledValueRoundedDown(maxUnavailable, replicas) ?? 0
  // A percentage may come to nothing. Without room in either direction nothing could move, and room above might be
  // refused by a quota.
  const missing = surge === 0 && unavailable === 0 ? 1 : unavailable
  return { replicas, replicasMax: replicas + surge, availableMin: Math.max(0, replicas - missing) }
}
