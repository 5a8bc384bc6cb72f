import type { Deployment } from '#/api/generated/apps/v1.ts'
import { scaledValueRoundedDown, scaledValueRoundedUp } from '#/api/int-or-string.ts'

/** Desired number of pods, and the limits during a rollout. */
export interface Bounds {
  readonly replicas: number
  /** `replicas` plus `maxSurge`: the ReplicaSets' sizes never add up to more. */
  readonly replicasMax: number
  /** `replicas` minus `maxUnavailable`: the rollout never reduces the available pods below this. */
  readonly availableMin: number
}

export function boundsOf({ spec }: Pick<Deployment, 'spec'>): Bounds {
  const replicas = spec?.replicas ?? 1
  if (spec?.strategy?.type === 'Recreate') return { replicas, replicasMax: replicas, availableMin: replicas }
  const { maxSurge = 0, maxUnavailable = 0 } = spec?.strategy?.rollingUpdate ?? {}
  const surge = scaledValueRoundedUp(maxSurge, replicas) ?? 0
  const unavailable = scaledValueRoundedDown(maxUnavailable, replicas) ?? 0
  // Percentages may round to zero. If both limits are zero the rollout cannot proceed; `maxUnavailable` is
  // then raised, since a quota might forbid a surge.
  const missing = surge === 0 && unavailable === 0 ? 1 : unavailable
  return { replicas, replicasMax: replicas + surge, availableMin: Math.max(0, replicas - missing) }
}
