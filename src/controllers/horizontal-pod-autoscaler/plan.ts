import { withCondition } from '#/api/conditions.ts'
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerCondition,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '#/api/generated/autoscaling/v2.ts'
import { formatTime } from '#/api/text/time.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Recommendation, ScaleHistory } from './history.ts'
import { normalizeDesiredReplicas } from './normalize-desired-replicas.ts'
import {
  proposeReplicas,
  type MetricWorld,
  type Proposal,
  type MetricReading,
  type MetricError,
} from './proposal.ts'

/** The decided size of a target, with conditions and events. */
export interface ScaleDecision {
  /** Desired replicas; undefined if unknown, in which case nothing is scaled. */
  readonly replicas: number | undefined
  /** Reason in the rescale event, if the size changes. */
  readonly reason: string
  readonly conditions: readonly ConditionFields[]
  /** One for each metric of the spec, in order. */
  readonly currentMetrics?: readonly MetricStatus[] | undefined
  readonly events: readonly EventContent[]
  /** Only set if metrics were evaluated. */
  readonly recommendations?: readonly Recommendation[]
}

export interface ConditionFields {
  readonly type: 'AbleToScale' | 'ScalingActive' | 'ScalingLimited'
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

/** The decision if metrics need not be read; undefined otherwise. */
export function planWithoutMetrics(
  { spec }: HorizontalPodAutoscaler,
  currentReplicas: number,
): ScaleDecision | undefined {
  const { minReplicas = 1, maxReplicas } = spec
  const decide = (replicas: number, reason: string): ScaleDecision => {
    return { replicas, reason, conditions: [], events: [] }
  }
  if (currentReplicas === 0) {
    const message = 'scaling is disabled since the replica count of the target is zero'
    const condition = { type: 'ScalingActive', status: 'False', reason: 'ScalingDisabled', message } as const
    return { ...decide(0, ''), conditions: [condition] }
  }
  if (currentReplicas > maxReplicas)
    return decide(maxReplicas, 'Current number of replicas above Spec.MaxReplicas')
  if (currentReplicas < minReplicas)
    return decide(minReplicas, 'Current number of replicas below Spec.MinReplicas')
  return undefined
}

/** The decision if the target's pods cannot be determined, or several autoscalers select them. */
export function planWithoutPods(problem: {
  readonly condition: { readonly reason: string; readonly message: string }
  readonly event: { readonly reason: string; readonly message: string }
}): ScaleDecision {
  const { condition, event } = problem
  return {
    replicas: undefined,
    reason: '',
    conditions: [{ type: 'ScalingActive', status: 'False', ...condition }],
    events: [{ type: 'Warning', ...event }, failedToCompute(event.message)],
  }
}

export interface ScaleWorld extends MetricWorld {
  /** One for each metric of the spec, in order. */
  readonly readings: readonly MetricReading[]
  readonly history: ScaleHistory
  readonly downscaleWindowMs: number
  readonly monotonicMs: number
}

/**
 * The highest proposal wins. A metric that could not be read might have proposed more, so nothing is scaled
 * down then.
 */
export function planByMetrics(world: ScaleWorld): ScaleDecision {
  const { autoscaler, readings, currentReplicas } = world
  const { metrics = [], minReplicas = 1, maxReplicas, behavior } = autoscaler.spec
  const results = metrics.map((metric, index) => {
    return proposeReplicas(metric, readings[index] ?? { failure: 'not read' }, world)
  })
  const proposals = results.filter(result => 'replicas' in result)
  const errors = results.filter(result => 'summary' in result)
  const top = highest(proposals)
  // Clients match metrics by position: an unavailable metric keeps its position.
  const currentMetrics = results.map(result => ('replicas' in result ? result.status : { type: '' }))
  const events = errors.map(({ reason, message }): EventContent => ({ type: 'Warning', reason, message }))
  if (top === undefined || (errors.length > 0 && top.replicas < currentReplicas)) {
    return {
      replicas: undefined,
      reason: '',
      currentMetrics,
      ...unableToCompute(errors, results.length, events),
    }
  }
  const { history, downscaleWindowMs, monotonicMs } = world
  const { replicas, ableToScale, scalingLimited, recommendations } = normalizeDesiredReplicas({
    currentReplicas,
    proposedReplicas: top.replicas,
    minReplicas,
    maxReplicas,
    behavior,
    history,
    downscaleWindowMs,
    nowMs: monotonicMs,
  })
  const found = `the HPA was able to successfully calculate a replica count from ${top.metric}`
  const { isLimited, ...limit } = scalingLimited
  return {
    replicas,
    reason: rescaleReason(top, currentReplicas),
    conditions: [
      { type: 'AbleToScale', status: 'True', ...ableToScale },
      { type: 'ScalingActive', status: 'True', reason: 'ValidMetricFound', message: found },
      { type: 'ScalingLimited', status: isLimited ? 'True' : 'False', ...limit },
    ],
    currentMetrics,
    events,
    recommendations,
  }
}

function highest(proposals: readonly Proposal[]): Proposal | undefined {
  return proposals.reduce<Proposal | undefined>((top, each) => {
    return top === undefined || each.replicas > top.replicas ? each : top
  }, undefined)
}

function rescaleReason({ replicas, metric }: Proposal, currentReplicas: number): string {
  if (replicas > currentReplicas) return `${metric} above target`
  return replicas < currentReplicas ? 'All metrics below target' : ''
}

function unableToCompute(
  errors: readonly MetricError[],
  metrics: number,
  events: readonly EventContent[],
): Pick<ScaleDecision, 'conditions' | 'events'> {
  const { reason, message: why, summary } = errors[0] ?? noMetrics
  const message = `the HPA was unable to compute the replica count: ${why}`
  const counts = `invalid metrics (${errors.length} invalid out of ${metrics}), first error is: ${summary}`
  return {
    conditions: [{ type: 'ScalingActive', status: 'False', reason, message }],
    events: [...events, failedToCompute(counts)],
  }
}

/** Fallback: the API server defaults an empty list of metrics, so this is not expected. */
const noMetrics: MetricError = {
  reason: 'InvalidMetricSourceType',
  message: 'no metrics specified',
  summary: 'no metrics specified',
}

function failedToCompute(message: string): EventContent {
  return { type: 'Warning', reason: 'FailedComputeMetricsReplicas', message }
}

/** The status that results from a decision and its outcome. */
export function planStatus(
  { status }: HorizontalPodAutoscaler,
  outcome: {
    readonly currentReplicas: number
    readonly desiredReplicas: number | undefined
    readonly currentMetrics: readonly MetricStatus[] | undefined
    readonly conditions: readonly ConditionFields[]
    readonly hasScaled: boolean
    readonly nowMs: number
  },
): HorizontalPodAutoscalerStatus {
  const { currentReplicas, currentMetrics, hasScaled, nowMs } = outcome
  const lastScaleTime = hasScaled ? formatTime(nowMs) : status?.lastScaleTime
  return {
    ...(currentReplicas > 0 && { currentReplicas }),
    desiredReplicas: outcome.desiredReplicas ?? status?.desiredReplicas ?? 0,
    ...(lastScaleTime && { lastScaleTime }),
    ...(currentMetrics && currentMetrics.length > 0 && { currentMetrics }),
    conditions: withConditions(status?.conditions, outcome.conditions, nowMs),
  }
}

export function withConditions(
  before: readonly HorizontalPodAutoscalerCondition[] | undefined,
  fields: readonly ConditionFields[],
  nowMs: number,
): readonly HorizontalPodAutoscalerCondition[] {
  const lastTransitionTime = formatTime(nowMs)
  return fields.reduce(
    (conditions, condition) => withCondition(conditions, { ...condition, lastTransitionTime }),
    before ?? [],
  )
}
