/**
 * Conversion of HorizontalPodAutoscaler between v1, which supports only the CPU metric, and v2, the storage
 * version. Fields that v1 lacks are stored in annotations with Kubernetes' names, which exist only in v1. A
 * round trip preserves everything except the order of metrics, which has no meaning: the CPU metric comes
 * last.
 */
import type { Conversions } from '../../conversion.ts'
import { decode } from '../../decoding/decode.ts'
import { structDefinition } from '../../definitions.ts'
import type * as v1 from '../../generated/autoscaling/v1.ts'
import type * as v2 from '../../generated/autoscaling/v2.ts'
import { parseJson, stringifyJson } from '../../text/json.ts'
import type { JsonValue } from '../../text/json-value.ts'
import { annotationOf, type KubernetesObject } from '../../metadata.ts'
import { isObject, put, type JsonObject } from '../../text/json-object.ts'
import {
  attempt,
  readList,
  readMetrics,
  readMetricStatuses,
  writeMetrics,
  writeMetricStatuses,
} from './metric-annotations.ts'

export const conversions: Conversions = {
  'autoscaling/v1 autoscaling/v2 HorizontalPodAutoscaler': toV2,
  'autoscaling/v2 autoscaling/v1 HorizontalPodAutoscaler': toV1,
}

/** Default target CPU utilization, in percent. */
export const defaultCpuUtilization = 80

/** The only metric that v1 has a field for. */
export function cpuMetric(averageUtilization: number): v2.MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } }
}

/** Removes the annotations that represent v2 fields in v1 objects. */
export function withoutRoundTripAnnotations<T extends KubernetesObject>(object: T): T {
  return withAnnotations(object, {})
}

const prefix = 'autoscaling.alpha.kubernetes.io/'
const metricsAnnotation = `${prefix}metrics`
const behaviorAnnotation = `${prefix}behavior`
const currentMetricsAnnotation = `${prefix}current-metrics`
const conditionsAnnotation = `${prefix}conditions`

const roundTripAnnotations: readonly string[] = [
  metricsAnnotation,
  behaviorAnnotation,
  currentMetricsAnnotation,
  conditionsAnnotation,
  `${prefix}scale-down-tolerance`,
  `${prefix}scale-up-tolerance`,
]

function toV1(object: v2.HorizontalPodAutoscaler): v1.HorizontalPodAutoscaler {
  const { spec, status, apiVersion: _, ...rest } = object
  const { metrics = [], behavior, ...common } = spec ?? {}
  const cpu = metrics.find(isCpuMetric)
  const others = metrics.filter(metric => metric !== cpu)
  const averageUtilization = cpu?.resource?.target.averageUtilization
  const { currentMetrics = [], conditions = [] } = status ?? {}
  return withAnnotations(
    {
      ...rest,
      apiVersion: 'autoscaling/v1',
      spec: {
        ...common,
        ...(averageUtilization !== undefined && { targetCPUUtilizationPercentage: averageUtilization }),
      },
      ...(status && { status: statusToV1(status) }),
    },
    {
      ...(others.length > 0 && { [metricsAnnotation]: writeMetrics(others) }),
      ...(currentMetrics.length > 0 && { [currentMetricsAnnotation]: writeMetricStatuses(currentMetrics) }),
      ...(behavior && { [behaviorAnnotation]: writeBehavior(behavior) }),
      ...(conditions.length > 0 && {
        [conditionsAnnotation]: stringifyJson(conditions as unknown as JsonValue),
      }),
    },
  )
}

function toV2(object: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler {
  const { spec, status, apiVersion: _, ...rest } = object
  const { targetCPUUtilizationPercentage: averageUtilization, ...common } = spec ?? {}
  const metrics = [
    ...(read(object, metricsAnnotation, readMetrics) ?? []),
    ...(averageUtilization === undefined ? [] : [cpuMetric(averageUtilization)]),
  ]
  const behavior = read(object, behaviorAnnotation, readBehavior)
  const fullStatus = statusToV2(object, status)
  return withoutRoundTripAnnotations({
    ...rest,
    apiVersion: 'autoscaling/v2',
    spec: {
      ...common,
      metrics: metrics.length > 0 ? metrics : [cpuMetric(defaultCpuUtilization)],
      ...(behavior && { behavior }),
    },
    ...(fullStatus && { status: fullStatus }),
  })
}

function isCpuMetric({ type, resource }: v2.MetricSpec): boolean {
  const { averageUtilization, averageValue, value, type: targetType } = resource?.target ?? {}
  return (
    type === 'Resource' &&
    resource?.name === 'cpu' &&
    targetType === 'Utilization' &&
    averageUtilization !== undefined &&
    averageValue === undefined &&
    value === undefined
  )
}

function statusToV1(status: v2.HorizontalPodAutoscalerStatus): v1.HorizontalPodAutoscalerStatus {
  const { currentMetrics = [], conditions: _, currentReplicas = 0, ...common } = status
  const utilization = currentMetrics
    .filter(({ type, resource }) => type === 'Resource' && resource?.name === 'cpu')
    .map(({ resource }) => resource?.current?.averageUtilization)
    .findLast(value => value !== undefined)
  return {
    ...common,
    currentReplicas,
    ...(utilization !== undefined && { currentCPUUtilizationPercentage: utilization }),
  }
}

function statusToV2(
  object: v1.HorizontalPodAutoscaler,
  status: v1.HorizontalPodAutoscalerStatus | undefined,
): v2.HorizontalPodAutoscalerStatus | undefined {
  const { currentCPUUtilizationPercentage: averageUtilization, ...common } = status ?? {}
  const given = averageUtilization === undefined ? undefined : [currentCpu(averageUtilization)]
  const currentMetrics = read(object, currentMetricsAnnotation, readMetricStatuses) ?? given
  const conditions = read(object, conditionsAnnotation, readConditions)
  if (!status && !currentMetrics && !conditions) return undefined
  return {
    ...(common as v2.HorizontalPodAutoscalerStatus),
    ...(currentMetrics && { currentMetrics }),
    ...(conditions && { conditions }),
  }
}

function currentCpu(averageUtilization: number): v2.MetricStatus {
  return { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization } } }
}

function read<T>(
  object: KubernetesObject,
  key: string,
  parse: (text: string) => T | undefined,
): T | undefined {
  const text = annotationOf(object, key)
  return text === undefined ? undefined : parse(text)
}

function readConditions(text: string): readonly v2.HorizontalPodAutoscalerCondition[] | undefined {
  const conditions = readList(text, 'autoscaling.v2.HorizontalPodAutoscalerCondition', item => item)
  return conditions as readonly v2.HorizontalPodAutoscalerCondition[] | undefined
}

/** Written with Go's field names, such as `ScaleUp`; reading accepts either form. */
function writeBehavior(behavior: v2.HorizontalPodAutoscalerBehavior): string {
  const { scaleUp, scaleDown } = behavior
  const rules = {
    ...behavior,
    ...(scaleUp && { scaleUp: { ...scaleUp, tolerance: scaleUp.tolerance ?? null } }),
    ...(scaleDown && { scaleDown: { ...scaleDown, tolerance: scaleDown.tolerance ?? null } }),
  }
  return stringifyJson(withKeys(rules as JsonValue, key => key.charAt(0).toUpperCase() + key.slice(1)))
}

function readBehavior(text: string): v2.HorizontalPodAutoscalerBehavior | undefined {
  return attempt(() => {
    const named = withKeys(parseJson(text), key => key.charAt(0).toLowerCase() + key.slice(1))
    const { value } = decode(named, structDefinition('autoscaling.v2.HorizontalPodAutoscalerBehavior'))
    return Object.keys(value).length > 0 ? value : undefined
  })
}

function withKeys(value: JsonValue, rename: (key: string) => string): JsonValue {
  if (Array.isArray(value)) return value.map(item => withKeys(item, rename))
  if (!isObject(value)) return value
  const renamed: JsonObject = {}
  for (const [key, item] of Object.entries(value)) put(renamed, rename(key), withKeys(item, rename))
  return renamed
}

/** Replaces all round-trip annotations by the given ones. */
function withAnnotations<T extends KubernetesObject>(object: T, given: Readonly<Record<string, string>>): T {
  const { annotations: before = {}, ...metadata } = object.metadata
  const isPlain = !roundTripAnnotations.some(key => Object.hasOwn(before, key))
  if (isPlain && Object.keys(given).length === 0) return object
  const annotations = { ...before, ...given }
  for (const key of roundTripAnnotations) if (!Object.hasOwn(given, key)) delete annotations[key]
  const hasAny = Object.keys(annotations).length > 0
  return { ...object, metadata: { ...metadata, ...(hasAny && { annotations }) } }
}
