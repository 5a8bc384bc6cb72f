/**
 * The last-applied-configuration annotation of client-side `kubectl apply`. It allows migrating to `kubectl
 * apply --server-side` without conflicts on fields that kubectl applied itself, and migrating back.
 */
import type { JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { compareValues } from './compare-values.ts'
import { difference, emptySet, union, type FieldSet } from './field-set.ts'
import { toFieldSet } from './to-field-set.ts'
import { compareText, encodeText } from './path-element.ts'
import { asMap, TypedValueError, valueAt, type JsonObject } from './structure.ts'
import { validateTypedValue } from './validate-typed-value.ts'

const annotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** The only manager for which the annotation is maintained. */
export const lastAppliedAnnotationManager = 'kubectl'

/** Maximum total size of the annotations of an object, in bytes. */
const annotationBytesMax = 256 * 1024

/** The fields of the last applied configuration that are unchanged in the live object. */
export function lastAppliedFields(schema: Schema, apiVersion: string, live: JsonObject): FieldSet {
  const lastApplied = parseObject(lastAppliedText(live))
  if (lastApplied === undefined || lastApplied['apiVersion'] !== apiVersion) return emptySet
  if (validateTypedValue(schema, lastApplied).length > 0) return emptySet
  try {
    const { added, modified, removed } = compareValues(schema, lastApplied, live)
    return difference(toFieldSet(schema, lastApplied), union(union(added, modified), removed))
  } catch (error) {
    // If the live object does not match its schema, no field can be proven unchanged.
    if (error instanceof TypedValueError) return emptySet
    throw error
  }
}

/** Updates the annotation if the object has it. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const before = lastAppliedText(object)
  if (before === '') return object
  const text = `${canonicalJson(withoutAnnotation(applied))}\n`
  if (text === before) return object
  const metadata = asMap(object['metadata'])
  const annotations = { ...asMap(metadata?.['annotations']), [annotation]: text }
  if (annotationBytes(annotations) > annotationBytesMax) return withoutAnnotation(object)
  return { ...object, metadata: { ...metadata, annotations } }
}

function lastAppliedText(object: JsonObject): string {
  const text = valueAt(asMap(asMap(object['metadata'])?.['annotations']), annotation)
  return typeof text === 'string' ? text : ''
}

function parseObject(text: string): JsonObject | undefined {
  try {
    return asMap(JSON.parse(text) as JsonValue)
  } catch {
    return undefined
  }
}

function withoutAnnotation(object: JsonObject): JsonObject {
  const metadata = asMap(object['metadata'])
  const annotations = asMap(metadata?.['annotations'])
  if (annotations === undefined || !Object.hasOwn(annotations, annotation)) return object
  const { [annotation]: _, ...rest } = annotations
  return { ...object, metadata: { ...metadata, annotations: rest } }
}

function annotationBytes(annotations: JsonObject): number {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0)
  }
  return bytes
}

/**
 * JSON with sorted keys, as kubectl writes it. The configuration has been validated, so its depth is bounded.
 */
function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return encodeText(value)
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const keys = Object.keys(value).sort(compareText)
  return `{${keys.map(key => `${encodeText(key)}:${canonicalJson(value[key] ?? null)}`).join(',')}}`
}
