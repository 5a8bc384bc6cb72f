import type { JsonObject } from '#/api/text/json-object.ts'
import { formatQuantity, tryParseQuantity } from '#/api/text/quantity.ts'
import { generatedObject, type GeneratedResource } from '../create/generated-object.ts'

export const autoscalers: GeneratedResource = {
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  scope: 'Namespaced',
}

export interface AutoscalerRequest {
  readonly name: string
  /** Absent if it is that of the context. */
  readonly namespace?: string
  readonly target: { readonly apiVersion: string; readonly kind: string; readonly name: string }
  readonly min: number
  readonly max: number
  /** Negative without. */
  readonly cpuPercent: number
  /** Empty without. */
  readonly cpu: string
  readonly memory: string
}

/** Throws Error for values that contradict each other. */
export function validateAutoscaler({ min, max, cpuPercent, cpu, memory }: AutoscalerLimits): void {
  if (max < 1) throw new Error(`--max=MAXPODS is required and must be at least 1, max: ${max}`)
  if (max < min) {
    throw new Error(`--max=MAXPODS must be larger or equal to --min=MINPODS, max: ${max}, min: ${min}`)
  }
  if (cpuPercent > 0 && cpu !== '') throw new Error('--cpu-percent and --cpu are mutually exclusive')
  if (cpu !== '') parseMetricTarget('cpu', cpu)
  if (memory !== '') parseMetricTarget('memory', memory)
}

export type AutoscalerLimits = Pick<AutoscalerRequest, 'min' | 'max' | 'cpuPercent' | 'cpu' | 'memory'>

export function planAutoscaler(request: AutoscalerRequest): JsonObject {
  const { name, namespace = '', target, min, max, cpuPercent, cpu, memory } = request
  const metrics: JsonObject[] = []
  if (cpuPercent > 0) metrics.push(resourceMetric('cpu', utilizationTarget(cpuPercent)))
  if (cpu !== '') metrics.push(resourceMetric('cpu', parseMetricTarget('cpu', cpu)))
  if (memory !== '') metrics.push(resourceMetric('memory', parseMetricTarget('memory', memory)))
  return generatedObject(autoscalers, {
    metadata: { name, namespace },
    spec: {
      scaleTargetRef: { kind: target.kind, name: target.name, apiVersion: target.apiVersion },
      ...(min > 0 && { minReplicas: min }),
      maxReplicas: max,
      ...(metrics.length > 0 && { metrics }),
    },
    status: { desiredReplicas: 0, currentMetrics: null },
  })
}

function resourceMetric(name: string, target: JsonObject): JsonObject {
  return { type: 'Resource', resource: { name, target } }
}

/** Units of numbers without a unit. */
const defaultUnits = { cpu: 'm', memory: 'Mi' } as const

export type MetricResource = keyof typeof defaultUnits

/** The target of a metric: `70%` of the requests, or the quantity `500m` of each pod. Throws Error. */
export function parseMetricTarget(resource: MetricResource, text: string): JsonObject {
  const trimmed = text.trim()
  if (trimmed === '') throw new Error('empty input')
  if (trimmed.endsWith('%')) return utilizationTarget(parsePercentage(trimmed.slice(0, -1)))
  const isNumber = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed)
  const quantity = tryParseQuantity(isNumber ? `${Number(trimmed)}${defaultUnits[resource]}` : trimmed)
  if (quantity === undefined) throw new Error(`invalid resource ${resource} value: ${trimmed}`)
  return { type: 'AverageValue', averageValue: formatQuantity(quantity) }
}

function utilizationTarget(averageUtilization: number): JsonObject {
  return { type: 'Utilization', averageUtilization }
}

function parsePercentage(text: string): number {
  const value = Number(text)
  if (/^\+?\d+$/.test(text) && value < 2 ** 31) return value
  throw new Error(`invalid percentage value: ${text}`)
}
