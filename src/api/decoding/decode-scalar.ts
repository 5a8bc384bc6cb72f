/**
 * Decodes strings, numbers and booleans against their schema and describes mismatches as Kubernetes does,
 * with Go type names: `int32`, `[]v1.Container`, `map[string]string`.
 */
import { isInt32, isInt64 } from '../text/int64.ts'
import type { JsonValue } from '../text/json-value.ts'
import { normalizeQuantity, parseQuantity, QuantityError } from '../text/quantity.ts'
import { quote } from '../text/quote.ts'
import type { ScalarSchema, Schema, StructSchema } from '../schema.ts'
import { normalizeMicroTime, normalizeTime } from '../text/time.ts'

/** The value in canonical form, unchanged if already canonical; undefined if it does not match the schema. */
export function readScalar(value: JsonValue, schema: ScalarSchema): JsonValue | undefined {
  const { type, format } = schema
  if (type === 'string') return typeof value === 'string' ? readString(value, format) : undefined
  if (type === 'quantity') return isQuantityLike(value) ? normalizeQuantity(String(value)) : undefined
  return hasType(value, schema) ? value : undefined
}

/** Either a complete message, or a description of the value found instead of the expected type. */
export type ScalarFault =
  | { readonly text: string; readonly found?: undefined }
  | { readonly text?: undefined; readonly found: string }

export function describeScalarFault(value: JsonValue, schema: Schema): ScalarFault {
  const { type } = schema
  if (type === 'quantity') return { text: describeQuantityFault(isQuantityLike(value) ? String(value) : '') }
  if (type === 'string' && typeof value === 'string') {
    return { text: describeFormatFault(value, schema.format) }
  }
  // The number is printed only if an integer was expected.
  if ((type === 'integer' || type === 'int-or-string') && isNumber(value)) return { found: `number ${value}` }
  return { found: describeType(value) }
}

/** Kubernetes' message for a value in an unstructured object that does not fit its field. */
export function describeRestoreFault(value: JsonValue, schema: Schema): string {
  const found = kindOf(value)
  if (schema.type === 'map') return `cannot restore map from ${found}`
  if (schema.type === 'list') return `cannot restore slice from ${found}`
  if (schema.type === 'struct') return `cannot restore struct from: ${found}`
  const wanted = goTypeOf(schema)
  // Go converts integers to strings and numbers to each other, which Kubernetes refuses by name.
  const isConvertible = isNumber(value) && (schema.type === 'integer' || found === 'int64')
  return isConvertible ? `cannot convert ${found} to ${wanted}` : `unrecognized type: ${wanted}`
}

/** The Go kind of a value in an unstructured object. */
function kindOf(value: JsonValue): string {
  if (isNumber(value)) return Number.isInteger(Number(value)) ? 'int64' : 'float64'
  if (Array.isArray(value)) return 'slice'
  return typeof value === 'object' ? 'map' : typeof value === 'boolean' ? 'bool' : 'string'
}

/** The name of a JSON value's type in error messages. */
export function describeType(value: JsonValue): string {
  if (value === null) return 'null'
  if (typeof value === 'object') return Array.isArray(value) ? 'array' : 'object'
  if (isNumber(value)) return 'number'
  return typeof value === 'boolean' ? 'bool' : 'string'
}

/** `v1.PodSpec` for `io.k8s.api.core.v1.PodSpec`. */
export function goTypeOf(schema: Schema): string {
  if (schema.type === 'struct') return schema.name.split('.').slice(-2).join('.')
  if (schema.type === 'list') return `[]${goTypeOf(schema.items)}`
  if (schema.type === 'map') return `map[string]${goTypeOf(schema.values)}`
  if (schema.type === 'string' && schema.format === 'byte') return '[]uint8'
  if (schema.type === 'integer' && schema.format !== undefined) return schema.format
  return goTypes[schema.type]
}

const goTypes = {
  'any': 'interface {}',
  'boolean': 'bool',
  'integer': 'int64',
  'number': 'float64',
  'int-or-string': 'int32',
  'quantity': 'resource.Quantity',
  'string': 'string',
} as const

/** `PodSpec` for `io.k8s.api.core.v1.PodSpec`. */
export function typeNameOf(schema: StructSchema): string {
  return schema.name.slice(schema.name.lastIndexOf('.') + 1)
}

function readString(value: string, format: string | undefined): string | undefined {
  if (format === 'byte') return normalizeBase64(value)
  if (format === 'date-time') return normalizeTime(value)
  if (format === 'date-time-micro') return normalizeMicroTime(value)
  return value
}

function hasType(value: JsonValue, { type, format }: ScalarSchema): boolean {
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'integer') return format === 'int32' ? isInt32(value) : isInt64(value)
  if (type === 'int-or-string') return typeof value === 'string' || isInt32(value)
  return isNumber(value)
}

function isNumber(value: JsonValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function isQuantityLike(value: JsonValue): value is string | number | bigint {
  return typeof value === 'string' || isNumber(value)
}

function normalizeBase64(text: string): string | undefined {
  const canonical = Buffer.from(text, 'base64').toString('base64')
  if (canonical === text) return text
  return illegalBase64At(text) === undefined ? canonical : undefined
}

/** Index of the first illegal character. Line breaks are allowed, since encoders insert them. */
function illegalBase64At(text: string): number | undefined {
  let digits = 0
  let padding = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (character === '\n' || character === '\r') continue
    if (character === '=') padding++
    else if (padding === 0 && /^[A-Za-z0-9+/]$/.test(character)) digits++
    else return at
    if (padding > 0 && (digits % 4 < 2 || (digits % 4) + padding > 4)) return at
  }
  return (digits + padding) % 4 === 0 ? undefined : text.length - ((digits + padding) % 4)
}

function describeFormatFault(value: string, format: string | undefined): string {
  if (format === 'byte') return `illegal base64 data at input byte ${illegalBase64At(value) ?? value.length}`
  return describeTimeFault(value, format === 'date-time-micro')
}

function describeQuantityFault(text: string): string {
  try {
    parseQuantity(text)
  } catch (error) {
    if (error instanceof QuantityError) return error.message
    throw error
  }
  return 'unable to parse quantity'
}

/** The parts of Go's reference time, which appear in Kubernetes' error messages. */
const timeParts = ['2006', '-', '01', '-', '02', 'T', '15', ':', '04', ':', '05'] as const

/** Maximum length of an invalid time in an error message. */
const shownCharactersMax = 100

function describeTimeFault(value: string, isMicro: boolean): string {
  const shown = value.length > shownCharactersMax ? `${value.slice(0, shownCharactersMax)}...` : value
  const parts = [...timeParts, ...(isMicro ? ['.000000'] : []), 'Z07:00']
  let rest = shown
  for (const part of parts) {
    const match = partPattern(part).exec(rest)
    if (match === null) {
      const head = `parsing time ${quote(shown)} as ${quote(parts.join(''))}`
      return `${head}: cannot parse ${quote(rest)} as ${quote(part)}`
    }
    rest = rest.slice(match[0].length)
  }
  return `parsing time ${quote(shown)}: ${rest === '' ? 'out of range' : `extra text: ${quote(rest)}`}`
}

function partPattern(part: string): RegExp {
  if (part === '.000000') return /^\.\d{6}/
  if (part === 'Z07:00') return /^(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)/
  return new RegExp(`^${part.replaceAll(/\d/g, '\\d')}`)
}
