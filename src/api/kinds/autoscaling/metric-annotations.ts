/**
 * Encodes metrics in the annotations that represent v2 fields in autoscaling/v1 objects. Field names are
 * those of v1 if it has them. Values for which v1 has no name, and which Kubernetes loses, use additional
 * names that other readers ignore.
 */
import { decode } from '../../decoding/decode.ts'
import { DecodeError } from '../../decoding/decode-error.ts'
import { structDefinition } from '../../definitions.ts'
import type { MetricSpec, MetricStatus } from '../../generated/autoscaling/v2.ts'
import { parseJson, stringifyJson } from '../../text/json.ts'
import type { JsonValue } from '../../text/json-value.ts'
import { isObject, type JsonObject } from '../../text/json-object.ts'
import { isZeroQuantity, tryParseQuantity } from '../../text/quantity.ts'

export function writeMetrics(metrics: readonly MetricSpec[]): string {
  return stringifyJson(metrics.map(metric => toAnnotation(metric as unknown as JsonObject, specNames)))
}

export function writeMetricStatuses(metrics: readonly MetricStatus[]): string {
  return stringifyJson(metrics.map(metric => toAnnotation(metric as unknown as JsonObject, statusNames)))
}

/** Undefined if the text is not a valid list of metrics: users may have edited the annotation. */
export function readMetrics(text: string): readonly MetricSpec[] | undefined {
  const translate = (item: JsonObject) => withTargetType(fromAnnotation(item, specNames))
  return readList(text, 'autoscaling.v2.MetricSpec', translate) as readonly MetricSpec[] | undefined
}

/** Undefined as above. */
export function readMetricStatuses(text: string): readonly MetricStatus[] | undefined {
  const translate = (item: JsonObject) => withCurrent(fromAnnotation(item, statusNames))
  return readList(text, 'autoscaling.v2.MetricStatus', translate) as readonly MetricStatus[] | undefined
}

/** Decodes a list of structs from an annotation after translating each item to the definition. */
export function readList(
  text: string,
  definition: string,
  translate: (item: JsonObject) => JsonObject,
): readonly unknown[] | undefined {
  return attempt(() => {
    const list = parseJson(text)
    if (!Array.isArray(list)) return undefined
    const schema = structDefinition(definition)
    return list.map(item => decode(isObject(item) ? translate(item) : item, schema).value)
  })
}

/** Undefined if decoding fails. */
export function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** v2 paths with their v1 names, by metric source, and the value in v1 if it is absent. */
type Names = Readonly<Record<string, readonly (readonly [path: string, name: string, absent?: string])[]>>

const averages = [
  ['target.averageUtilization', 'targetAverageUtilization'],
  ['target.value', 'targetValue'],
  ['target.type', 'targetType'],
] as const

const currentAverage = ['current.averageUtilization', 'currentAverageUtilization'] as const
const metricName = ['metric.name', 'metricName'] as const

const specNames: Names = {
  object: [
    ['describedObject', 'target'],
    metricName,
    ['metric.selector', 'selector'],
    ['target.averageValue', 'averageValue'],
    ...averages,
  ],
  pods: [
    metricName,
    ['metric.selector', 'selector'],
    ['target.averageValue', 'targetAverageValue'],
    ...averages,
  ],
  resource: [['name', 'name'], ['target.averageValue', 'targetAverageValue'], ...averages],
  containerResource: [
    ['name', 'name'],
    ['container', 'container'],
    ['target.averageValue', 'targetAverageValue'],
    ...averages,
  ],
  external: [
    metricName,
    ['metric.selector', 'metricSelector'],
    ['target.averageValue', 'targetAverageValue'],
    ...averages,
  ],
}

const statusNames: Names = {
  object: [
    ['describedObject', 'target'],
    metricName,
    ['metric.selector', 'selector'],
    ['current.value', 'currentValue'],
    ['current.averageValue', 'averageValue'],
    currentAverage,
  ],
  pods: [
    metricName,
    ['metric.selector', 'selector'],
    ['current.value', 'currentValue'],
    ['current.averageValue', 'currentAverageValue'],
    currentAverage,
  ],
  resource: [
    ['name', 'name'],
    ['current.value', 'currentValue'],
    currentAverage,
    ['current.averageValue', 'currentAverageValue', '0'],
  ],
  containerResource: [
    ['name', 'name'],
    ['container', 'container'],
    ['current.value', 'currentValue'],
    ['current.averageValue', 'currentAverageValue'],
    currentAverage,
  ],
  external: [
    metricName,
    ['metric.selector', 'metricSelector'],
    ['current.value', 'currentValue'],
    ['current.averageValue', 'currentAverageValue'],
    currentAverage,
  ],
}

function toAnnotation(metric: JsonObject, names: Names): JsonObject {
  const written: JsonObject = metric['type'] === undefined ? {} : { type: metric['type'] }
  for (const [kind, fields] of Object.entries(names)) {
    const source = metric[kind]
    if (!isObject(source)) continue
    const shown: JsonObject = {}
    for (const [path, name, absent] of fields) {
      const value = valueAt(source, path) ?? absent
      if (value !== undefined) shown[name] = value
    }
    const target = source['target']
    if (isObject(target) && target['type'] === impliedType(kind, target)) delete shown['targetType']
    written[kind] = shown
  }
  return written
}

function fromAnnotation(item: JsonObject, names: Names): JsonObject {
  const metric: JsonObject = item['type'] === undefined ? {} : { type: item['type'] }
  for (const [kind, fields] of Object.entries(names)) {
    const shown = Object.hasOwn(item, kind) ? item[kind] : undefined
    if (!isObject(shown)) continue
    const source: JsonObject = {}
    for (const [path, name, absent] of fields) {
      const value = Object.hasOwn(shown, name) ? shown[name] : undefined
      if (value !== undefined && value !== null && value !== absent) setAt(source, path, value)
    }
    metric[kind] = source
  }
  return metric
}

/** v1 has no target type: it follows from the values that are set. */
function withTargetType(metric: JsonObject): JsonObject {
  for (const kind of Object.keys(specNames)) {
    const source = metric[kind]
    if (!isObject(source)) continue
    const { target: given } = source
    const target = isObject(given) ? given : {}
    // In v1 the value of an object metric is mandatory and is zero if unset.
    const isAverage = kind === 'object' && target['averageValue'] !== undefined
    if (isAverage && isZero(target['value'])) delete target['value']
    source['target'] = { type: impliedType(kind, target), ...target }
  }
  return metric
}

/** `current` is mandatory in a status, even if empty. */
function withCurrent(metric: JsonObject): JsonObject {
  for (const kind of Object.keys(statusNames)) {
    const source = metric[kind]
    if (isObject(source)) source['current'] ??= {}
  }
  return metric
}

function impliedType(kind: string, target: JsonObject): string {
  if (kind === 'object') return target['averageValue'] === undefined ? 'Value' : 'AverageValue'
  if (kind === 'external') return target['value'] === undefined ? 'AverageValue' : 'Value'
  if (kind === 'pods') return 'AverageValue'
  return target['averageUtilization'] === undefined ? 'AverageValue' : 'Utilization'
}

function isZero(value: JsonValue | undefined): boolean {
  if (typeof value !== 'string' && typeof value !== 'number') return false
  const quantity = tryParseQuantity(String(value))
  return quantity !== undefined && isZeroQuantity(quantity)
}

/** Paths have one or two elements. */
function valueAt(source: JsonObject, path: string): JsonValue | undefined {
  const [first = '', second] = path.split('.')
  const value = source[first]
  if (second === undefined) return value
  return isObject(value) ? value[second] : undefined
}

function setAt(source: JsonObject, path: string, value: JsonValue): void {
  const [first = '', second] = path.split('.')
  if (second === undefined) {
    source[first] = value
    return
  }
  const inner = source[first]
  if (isObject(inner)) inner[second] = value
  else source[first] = { [second]: value }
}
