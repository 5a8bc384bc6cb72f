import type { Deployment } from '#/api/generated/apps/v1.ts'
import { scaledValueRoundedDown, scaledValueRoundedUp } from '#/api/text/int-or-string.ts'

/** Desired number of pods, and the limits during a rollout. */
export interface RolloutLimits {
  readonly replicas: number
  /** `replicas` plus `maxSurge`: the ReplicaSets' sizes never add up to more. */
  readonly maxReplicas: number
  /** `replicas` minus `maxUnavailable`: the rollout never reduces the available pods below this. */
  readonly minAvailable: number
}

export function rolloutLimitsOf({ spec }: Pick<Deployment, 'spec'>): RolloutLimits {
  const replicas = spec?.replicas ?? 1
  if (spec?.strategy?.type === 'Recreate') return { replicas, maxReplicas: replicas, minAvailable: replicas }
  const { maxSurge = 0, maxUnavailable = 0 } = spec?.strategy?.rollingUpdate ?? {}
  const surge = scaledValueRoundedUp(maxSurge, replicas) ?? 0
  const unavailable = scaledValueRoundedDown(maxUnavailable, replicas) ?? 0
  // Percentages may round to zero. If both limits are zero the rollout cannot proceed; `maxUnavailable` is
  // then raised, since a quota might forbid a surge.
  const missing = surge === 0 && unavailable === 0 ? 1 : unavailable
  return { replicas, maxReplicas: replicas + surge, minAvailable: Math.max(0, replicas - missing) }
}
