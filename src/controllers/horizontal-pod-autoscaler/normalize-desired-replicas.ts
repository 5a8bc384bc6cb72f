import type {
  HorizontalPodAutoscalerBehavior,
  HPAScalingPolicy,
  HPAScalingRules,
} from '#/api/generated/autoscaling/v2.ts'
import type { Recommendation, ScaleHistory } from './history.ts'

export interface LimitsWorld {
  readonly currentReplicas: number
  /** Proposed by the metrics. */
  readonly proposedReplicas: number
  readonly minReplicas: number
  readonly maxReplicas: number
  readonly behavior?: HorizontalPodAutoscalerBehavior | undefined
  readonly history: ScaleHistory
  /** Default stabilization window for scaling down. */
  readonly downscaleWindowMs: number
  /** Monotonic. */
  readonly nowMs: number
}

export interface NormalizedReplicas {
  readonly replicas: number
  /** Reason and message of the AbleToScale condition. */
  readonly ableToScale: ReasonAndMessage
  /** Reason and message of the ScalingLimited condition. */
  readonly scalingLimited: ReasonAndMessage & { readonly isLimited: boolean }
  /** The recommendations to keep, including this one. */
  readonly recommendations: readonly Recommendation[]
}

export interface ReasonAndMessage {
  readonly reason: string
  readonly message: string
}

/** Applies the stabilization windows, then the scaling policies and the replica limits. */
export function normalizeDesiredReplicas(world: LimitsWorld): NormalizedReplicas {
  const { proposedReplicas, behavior, history, downscaleWindowMs, nowMs } = world
  const upMs = (behavior?.scaleUp?.stabilizationWindowSeconds ?? 0) * 1_000
  const downSeconds = behavior?.scaleDown?.stabilizationWindowSeconds
  const downMs = downSeconds === undefined ? downscaleWindowMs : downSeconds * 1_000
  const recent = (windowMs: number): number[] => {
    return history.recommendations
      .filter(({ atMs }) => atMs > nowMs - windowMs)
      .map(({ replicas }) => replicas)
  }
  const lowest = Math.min(proposedReplicas, ...recent(upMs))
  const highest = Math.max(proposedReplicas, ...recent(downMs))
  const stable = behavior ? Math.min(Math.max(world.currentReplicas, lowest), highest) : highest
  const bounded = behavior ? boundByPolicies(world, stable, behavior) : boundAsUsual(world, stable)
  const kept = history.recommendations.filter(({ atMs }) => atMs > nowMs - Math.max(upMs, downMs))
  return {
    replicas: bounded.replicas,
    ableToScale: stable === proposedReplicas ? readyForNewScale : stabilized(world),
    scalingLimited: { ...bounded.why, isLimited: bounded.replicas !== stable },
    recommendations: [...kept, { replicas: proposedReplicas, atMs: nowMs }],
  }
}

const readyForNewScale = { reason: 'ReadyForNewScale', message: 'recommended size matches current size' }

function stabilized({ behavior, proposedReplicas, currentReplicas }: LimitsWorld): ReasonAndMessage {
  if (behavior && proposedReplicas >= currentReplicas) {
    const message =
      'recent recommendations were lower than current one, applying the lowest recent recommendation'
    return { reason: 'ScaleUpStabilized', message }
  }
  const message =
    'recent recommendations were higher than current one, applying the highest recent recommendation'
  return { reason: 'ScaleDownStabilized', message }
}

interface Bounded {
  readonly replicas: number
  readonly why: ReasonAndMessage
}

const tooFast = {
  up: {
    reason: 'ScaleUpLimit',
    message: 'the desired replica count is increasing faster than the maximum scale rate',
  },
  down: {
    reason: 'ScaleDownLimit',
    message: 'the desired replica count is decreasing faster than the maximum scale rate',
  },
}
const tooMany = {
  reason: 'TooManyReplicas',
  message: 'the desired replica count is more than the maximum replica count',
}
const tooFew = {
  reason: 'TooFewReplicas',
  message: 'the desired replica count is less than the minimum replica count',
}
const inRange = { reason: 'DesiredWithinRange', message: 'the desired count is within the acceptable range' }

/** Without `behavior`: at most doubles the size per sync, or scales to four. */
function boundAsUsual({ currentReplicas, minReplicas, maxReplicas }: LimitsWorld, desired: number): Bounded {
  const upTo = Math.max(2 * currentReplicas, 4)
  const most = Math.min(maxReplicas, upTo)
  if (desired < minReplicas) return { replicas: minReplicas, why: tooFew }
  if (desired > most) return { replicas: most, why: maxReplicas > upTo ? tooFast.up : tooMany }
  return { replicas: desired, why: inRange }
}

function boundByPolicies(
  { currentReplicas, minReplicas, maxReplicas, history, nowMs }: LimitsWorld,
  desired: number,
  { scaleUp, scaleDown }: HorizontalPodAutoscalerBehavior,
): Bounded {
  if (desired > currentReplicas) {
    const limit = policyLimit(scaleUp, 'up', { currentReplicas, history, nowMs })
    const upTo = Math.max(limit, currentReplicas)
    const most = Math.min(maxReplicas, upTo)
    if (desired > most) return { replicas: most, why: maxReplicas > upTo ? tooFast.up : tooMany }
  } else if (desired < currentReplicas) {
    const limit = policyLimit(scaleDown, 'down', { currentReplicas, history, nowMs })
    const downTo = Math.min(limit, currentReplicas)
    const least = Math.max(minReplicas, downTo)
    if (desired < least) return { replicas: least, why: minReplicas < downTo ? tooFast.down : tooFew }
  }
  return { replicas: desired, why: inRange }
}

/** The size that the scaling policies allow now, selected by `selectPolicy`. */
function policyLimit(
  { policies = [], selectPolicy = 'Max' }: HPAScalingRules = {},
  direction: 'up' | 'down',
  world: Pick<LimitsWorld, 'currentReplicas' | 'history' | 'nowMs'>,
): number {
  if (selectPolicy === 'Disabled') return world.currentReplicas
  const limits = policies.map(policy => allowedBy(policy, direction, startOfPeriod(policy, world)))
  const takesHigher = (selectPolicy === 'Min') === (direction === 'down')
  return takesHigher ? Math.max(...limits) : Math.min(...limits)
}

/** Replicas at the beginning of the policy's period, computed from this controller's own changes. */
function startOfPeriod(
  { periodSeconds }: HPAScalingPolicy,
  { currentReplicas, history, nowMs }: Pick<LimitsWorld, 'currentReplicas' | 'history' | 'nowMs'>,
): number {
  const changed = history.changes
    .filter(({ atMs }) => atMs > nowMs - periodSeconds * 1_000)
    .reduce((sum, { replicas }) => sum + replicas, 0)
  return currentReplicas - changed
}

/** Rounded in the direction of change, since small sizes could never grow otherwise. */
function allowedBy({ type, value }: HPAScalingPolicy, direction: 'up' | 'down', start: number): number {
  if (type === 'Pods') return direction === 'up' ? start + value : start - value
  return direction === 'up' ? Math.ceil(start * (1 + value / 100)) : Math.trunc(start * (1 - value / 100))
}
