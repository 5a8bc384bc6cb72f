import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '#/api/generated/autoscaling/v2.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import {
  formatQuantity,
  parseQuantity,
  quantityFromMilli,
  quantityMilliValue,
  quantityToNumber,
  tryParseQuantity,
} from '#/api/text/quantity.ts'
import { isPodReady } from '../pods.ts'
import { metricNames } from './metric-names.ts'
import type { PodSamples } from './metrics.ts'
import { requestsOf } from './pod-requests.ts'
import { groupSamples, type ReadinessTimes, type SampleGroups } from './sample-groups.ts'
import { isWithin, replicasByPods, wholeReplicas, type Tolerance } from './usage-ratio.ts'

/** A metric that was read: one value per pod, one value in total, or the reason why it is unavailable. */
export type MetricReading =
  | { readonly samples: PodSamples }
  | { readonly milliValue: bigint }
  | { readonly failure: string }

export interface MetricWorld {
  readonly autoscaler: HorizontalPodAutoscaler
  /** `spec.replicas` of the scale. */
  readonly currentReplicas: number
  /** `status.replicas` of the scale. */
  readonly statusReplicas: number
  /** Pods that the target selects. */
  readonly pods: readonly Stored<Pod>[]
  readonly times: ReadinessTimes
  readonly tolerance: number
  readonly nowMs: number
}

/** Number of replicas that a metric proposes. */
export interface Proposal {
  readonly replicas: number
  /** Name for messages: `cpu resource utilization (percentage of request)`. */
  readonly metric: string
  readonly status: MetricStatus
}

/** The reason why a metric proposes nothing. */
export interface MetricError {
  /** Reason of the condition and event: `FailedGetResourceMetric`. */
  readonly reason: string
  readonly message: string
  /** Message for the summary of several metrics. */
  readonly summary: string
}

export function proposeReplicas(
  metric: MetricSpec,
  reading: MetricReading,
  world: MetricWorld,
): Proposal | MetricError {
  const names = metricNames(metric, world.autoscaler)
  const refuse = (message: string): MetricError => ({
    reason: names.failureReason,
    message: names.wrap(message),
    summary: names.summarize(names.wrap(message)),
  })
  const target = targetOf(metric)
  if (target === undefined) return refuse(names.noTarget)
  if ('failure' in reading) return refuse(names.unread(reading.failure))
  const computed =
    'samples' in reading
      ? ofPods({ metric, target, all: reading.samples }, world)
      : ofWhole(target, reading.milliValue, world)
  if (typeof computed === 'string') return refuse(computed)
  return { replicas: computed.replicas, metric: names.name, status: names.statusOf(computed.current) }
}

interface Computed {
  readonly replicas: number
  readonly current: MetricValueStatus
}

/** Target of a metric; undefined if the spec has none. */
type Target =
  | { readonly type: 'Utilization'; readonly percent: number }
  | { readonly type: 'AverageValue' | 'Value'; readonly milliValue: bigint }

function targetOf(metric: MetricSpec): Target | undefined {
  const { averageUtilization, averageValue, value } = targetField(metric) ?? {}
  if (averageValue !== undefined) return amountTarget('AverageValue', averageValue)
  const isPerPod = metric.type === 'Resource' || metric.type === 'ContainerResource'
  if (isPerPod && averageUtilization !== undefined)
    return { type: 'Utilization', percent: averageUtilization }
  return !isPerPod && value !== undefined ? amountTarget('Value', value) : undefined
}

function amountTarget(type: 'AverageValue' | 'Value', text: string): Target | undefined {
  const quantity = tryParseQuantity(text)
  return quantity && { type, milliValue: quantityMilliValue(quantity) }
}

function targetField(metric: MetricSpec): MetricTarget | undefined {
  const { resource, containerResource, pods, object, external } = metric
  return (resource ?? containerResource ?? pods ?? object ?? external)?.target
}

interface PodMetric {
  readonly metric: MetricSpec
  readonly target: Target
  /** Samples of all pods, including those that do not count. */
  readonly all: PodSamples
}

function ofPods({ metric, target, all }: PodMetric, world: MetricWorld): Computed | string {
  const { pods, currentReplicas, times, nowMs } = world
  if (pods.length === 0) return noPods
  const { resource, containerResource } = metric
  const resourceName = (resource ?? containerResource)?.name
  const groups = groupSamples(pods, all, { resource: resourceName, times, nowMs })
  const samples = withoutGroups(all, groups)
  if (samples.size === 0) return 'did not receive metrics for targeted pods (pods might be unready)'
  const shared = { currentReplicas, samples, groups, tolerance: toleranceOf(world) }
  if (target.type === 'Utilization') {
    const requests = requestsOf(pods, resourceName ?? '', containerResource?.container)
    if (typeof requests === 'string') return requests
    const now = utilizationOf(samples, requests)
    if (now === undefined) return 'no metrics returned matched known pods'
    const replicas = replicasByPods({
      ...shared,
      ratioOf: some => (utilizationOf(some, requests)?.percent ?? 0) / target.percent,
      // Full request, or the target if that is above 100%.
      highUsageOf: pod => ((requests.get(pod) ?? 0n) * BigInt(Math.max(100, target.percent))) / 100n,
    })
    const averageValue = formatAmount(now.average, resourceName)
    return { replicas, current: { averageUtilization: now.percent, averageValue } }
  }
  const replicas = replicasByPods({
    ...shared,
    ratioOf: some => Number(averageOf(some)) / Number(target.milliValue),
    highUsageOf: () => target.milliValue,
  })
  return { replicas, current: { averageValue: formatAmount(averageOf(samples), resourceName) } }
}

function ofWhole(target: Target, milliValue: bigint, world: MetricWorld): Computed | string {
  const { currentReplicas, statusReplicas, pods } = world
  const wanted = target.type === 'Utilization' ? 1n : target.milliValue
  const tolerance = toleranceOf(world)
  if (target.type === 'AverageValue') {
    const ratio = Number(milliValue) / (Number(wanted) * statusReplicas)
    const isFine = isWithin(tolerance, ratio)
    const replicas = isFine ? statusReplicas : wholeReplicas(Number(milliValue) / Number(wanted))
    const average = statusReplicas === 0 ? milliValue : dividedUp(milliValue, BigInt(statusReplicas))
    return { replicas, current: { averageValue: formatAmount(average) } }
  }
  const current = { value: formatAmount(milliValue) }
  const ratio = Number(milliValue) / Number(wanted)
  if (isWithin(tolerance, ratio)) return { replicas: currentReplicas, current }
  if (pods.length === 0) return `unable to calculate ready pods: ${noPods}`
  const ready = pods.filter(pod => pod.status?.phase === 'Running' && isPodReady(pod)).length
  return { replicas: wholeReplicas(ratio * ready), current }
}

const noPods = 'no pods returned by selector while calculating replica count'

/** The autoscaler's tolerance takes precedence over the default. */
function toleranceOf({ autoscaler, tolerance }: MetricWorld): Tolerance {
  const { scaleUp, scaleDown } = autoscaler.spec.behavior ?? {}
  const own = (text: string | undefined): number => {
    return text === undefined ? tolerance : quantityToNumber(parseQuantity(text))
  }
  return { up: own(scaleUp?.tolerance), down: own(scaleDown?.tolerance) }
}

function withoutGroups(samples: PodSamples, { ignored, unready }: SampleGroups): PodSamples {
  return new Map([...samples].filter(([pod]) => !ignored.has(pod) && !unready.has(pod)))
}

/** Usage in percent of the request, over the pods with a known request. */
function utilizationOf(
  samples: PodSamples,
  requests: ReadonlyMap<string, bigint>,
): { readonly percent: number; readonly average: bigint } | undefined {
  let used = 0n
  let requested = 0n
  let count = 0n
  for (const [pod, { milliValue }] of samples) {
    const request = requests.get(pod)
    if (request === undefined) continue
    used += milliValue
    requested += request
    count++
  }
  return requested === 0n ? undefined : { percent: Number((used * 100n) / requested), average: used / count }
}

function averageOf(samples: PodSamples): bigint {
  let sum = 0n
  for (const { milliValue } of samples.values()) sum += milliValue
  return sum / BigInt(samples.size)
}

function dividedUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return quotient * divisor < value ? quotient + 1n : quotient
}

/** Memory is formatted with binary suffixes. */
function formatAmount(milliValue: bigint, resource?: string): string {
  return formatQuantity(quantityFromMilli(milliValue, resource === 'memory' ? 'BinarySI' : 'DecimalSI'))
}
