/**
 * Decodes a parsed value against its schema in a single traversal. Valid values are returned unchanged, by
 * reference; only paths to modified values are copied. Unknown fields are dropped and reported; nulls are
 * dropped, and so are empty values where empty equals absent; quantities, times and bytes are converted to
 * canonical form. A type mismatch throws with Kubernetes' message. Validation of well-typed values happens
 * later.
 */
import { DecodeError } from './decode-error.ts'
import {
  describeRestoreFault,
  describeScalarFault,
  goTypeOf,
  readScalar,
  typeNameOf,
} from './decode-scalar.ts'
import { formatJsonPath } from '../text/json-path.ts'
import { depthMax, tooDeep } from '../text/json.ts'
import type { JsonValue } from '../text/json-value.ts'
import { isObject, put, type JsonObject } from '../text/json-object.ts'
import type { ListSchema, MapSchema, Schema, SchemaUnion, StructSchema } from '../schema.ts'

export interface DecodeOptions {
  /**
   * The schema belongs to a custom resource: types and nulls are left to its validation, which reports them
   * better. Metadata and other named types are checked nevertheless.
   */
  readonly customResource?: boolean
  /** Keeps empty values, since server-side apply takes ownership of them although they are not returned. */
  readonly keepsEmpty?: boolean
  /** The value is a merged object and not a JSON document, which Kubernetes' messages distinguish. */
  readonly isUnstructured?: boolean
}

export interface Decoded {
  readonly value: JsonObject
  /**
   * Paths of the first fields that were dropped because they are not in the schema:
   * `spec.containers[0].imagee`.
   */
  readonly unknownFields: readonly string[]
}

/** Maximum number of unknown fields reported; all are dropped. */
export const unknownFieldsMax = 100

/** Throws DecodeError on a type mismatch. */
export function decode(value: JsonValue, schema: StructSchema, options: DecodeOptions = {}): Decoded {
  const walk: Walk = {
    path: [],
    owners: [],
    unknownFields: [],
    keepsEmpty: options.keepsEmpty === true,
    isUnstructured: options.isUnstructured === true,
  }
  const isTyped = options.customResource !== true
  const decoded = value === null ? {} : decodeStruct(walk, value, { schema, isTyped })
  // Validation of a custom resource would reject it too, but needs an object to start from.
  if (!isObject(decoded)) throw mismatch(walk, value, schema)
  return { value: decoded, unknownFields: walk.unknownFields }
}

interface Walk {
  /** Keys and indexes from the root to the current value. */
  readonly path: (string | number)[]
  /** For each path element, the struct that declares the field; undefined for map keys and indexes. */
  readonly owners: (StructSchema | undefined)[]
  readonly unknownFields: string[]
  readonly keepsEmpty: boolean
  readonly isUnstructured: boolean
}

/** A schema and whether values must have its types, which is not required inside a custom resource. */
interface Target<S extends Schema = Schema> {
  readonly schema: S
  readonly isTyped: boolean
}

function decodeValue(walk: Walk, value: JsonValue, target: Target): JsonValue {
  const { schema, isTyped } = target
  if (schema.type === 'struct') return decodeStruct(walk, value, { schema, isTyped: schema.name !== '' })
  if (schema.type === 'list') return decodeList(walk, value, { schema, isTyped })
  if (schema.type === 'map') return decodeMap(walk, value, { schema, isTyped })
  if (schema.type === 'any') return schema.union ? decodeUnion(walk, value, schema.union) : value
  if (!isTyped) return value
  const read = readScalar(value, schema)
  if (read === undefined) throw mismatch(walk, value, schema)
  return read
}

function decodeStruct(walk: Walk, value: JsonValue, target: Target<StructSchema>): JsonValue {
  if (!isObject(value)) return keepOrRefuse(walk, value, target)
  refuseDeep(walk)
  let changed: JsonObject | undefined
  for (const key in value) {
    const before = value[key]
    const after = decodeField(walk, { key, value: before }, target)
    if (changed === undefined && after !== before) changed = membersBefore(value, key)
    if (changed !== undefined && after !== undefined) put(changed, key, after)
  }
  return changed ?? value
}

/** Undefined if the field is to be dropped. */
function decodeField(walk: Walk, member: Member, target: Target<StructSchema>): JsonValue | undefined {
  const { key, value } = member
  // Parsed JSON has no undefined values; only objects built in code do.
  if (value === undefined) return undefined
  const { schema: owner, isTyped } = target
  const field = owner.fields.get(key)
  if (field === undefined) {
    if (owner.preserveUnknownFields) return value
    const { unknownFields, path } = walk
    if (unknownFields.length < unknownFieldsMax) unknownFields.push(formatJsonPath([...path, key]))
    return undefined
  }
  const { schema } = field
  if (value === null) return isTyped || isNamed(schema) ? undefined : null
  // Fast path: half of all fields return here, without maintaining the path.
  if (schema.type === 'any' && schema.union === undefined) return value
  const dropsEmpty = field.omitEmpty === true && !walk.keepsEmpty
  if (isPlainString(value, schema)) return dropsEmpty && value === '' ? undefined : value
  walk.path.push(key)
  walk.owners.push(owner)
  const decoded = decodeValue(walk, value, { schema, isTyped })
  walk.path.pop()
  walk.owners.pop()
  return dropsEmpty && isEmpty(decoded) ? undefined : decoded
}

function isEmpty(value: JsonValue): boolean {
  if (typeof value !== 'object' || value === null) return !value
  if (Array.isArray(value)) return value.length === 0
  for (const _ in value) return false
  return true
}

interface Member {
  readonly key: string
  readonly value: JsonValue | undefined
}

function isPlainString(value: JsonValue, schema: Schema): boolean {
  return typeof value === 'string' && schema.type === 'string' && schema.format === undefined
}

function isNamed(schema: Schema): boolean {
  return schema.type === 'struct' && schema.name !== ''
}

function decodeList(walk: Walk, value: JsonValue, target: Target<ListSchema>): JsonValue {
  if (!Array.isArray(value)) return keepOrRefuse(walk, value, target)
  refuseDeep(walk)
  const items: Target = { schema: target.schema.items, isTyped: target.isTyped }
  let changed: JsonValue[] | undefined
  walk.owners.push(undefined)
  for (let index = 0; index < value.length; index++) {
    walk.path.push(index)
    const before = value[index] as JsonValue
    const after = decodeItem(walk, before, items)
    walk.path.pop()
    if (changed === undefined && after !== before) changed = value.slice(0, index)
    changed?.push(after)
  }
  walk.owners.pop()
  return changed ?? value
}

function decodeMap(walk: Walk, value: JsonValue, target: Target<MapSchema>): JsonValue {
  if (!isObject(value)) return keepOrRefuse(walk, value, target)
  refuseDeep(walk)
  const values: Target = { schema: target.schema.values, isTyped: target.isTyped }
  let changed: JsonObject | undefined
  walk.owners.push(undefined)
  for (const key in value) {
    walk.path.push(key)
    const before = value[key] as JsonValue
    const after = decodeItem(walk, before, values)
    walk.path.pop()
    if (changed === undefined && after !== before) changed = membersBefore(value, key)
    if (changed !== undefined) put(changed, key, after)
  }
  walk.owners.pop()
  return changed ?? value
}

const strings: ListSchema = { type: 'list', items: { type: 'string' }, listType: 'atomic', keys: [] }

/**
 * As in Kubernetes, unknown fields are dropped but not reported, and a value of neither type is an empty list, except
 * where a boolean is the other type.
 */
function decodeUnion(walk: Walk, value: JsonValue, { struct, other }: SchemaUnion): JsonValue {
  const { length: known } = walk.unknownFields
  const decoded = decodeAlternative(walk, value, { struct, other })
  walk.unknownFields.length = known
  return decoded
}

function decodeAlternative(walk: Walk, value: JsonValue, { struct, other }: SchemaUnion): JsonValue {
  if (isObject(value)) return decodeStruct(walk, value, { schema: struct, isTyped: true })
  if (other === 'boolean') {
    if (typeof value === 'boolean') return value
    throw new DecodeError('type', 'boolean or JSON schema expected')
  }
  if (!Array.isArray(value)) return []
  const schema = other === 'list of strings' ? strings : { ...strings, items: struct }
  return decodeList(walk, value, { schema, isTyped: true })
}

/** A null item in a list or map becomes the zero value of its type, since an item cannot be absent. */
function decodeItem(walk: Walk, value: JsonValue, target: Target): JsonValue {
  if (value !== null) return decodeValue(walk, value, target)
  return target.isTyped ? emptyValueOf(target.schema) : null
}

/** A new object with the members that precede `end`. */
function membersBefore(object: JsonObject, end: string): JsonObject {
  const members: JsonObject = {}
  for (const key in object) {
    if (key === end) break
    put(members, key, object[key] as JsonValue)
  }
  return members
}

function emptyValueOf(schema: Schema): JsonValue {
  if (schema.type === 'struct' || schema.type === 'map') return {}
  if (schema.type === 'list') return []
  if (schema.type === 'string' && schema.format?.startsWith('date-time')) return null
  return emptyScalars[schema.type]
}

const emptyScalars = {
  'any': null,
  'boolean': false,
  'integer': 0,
  'number': 0,
  'int-or-string': 0,
  'quantity': '0',
  'string': '',
} as const

function keepOrRefuse(walk: Walk, value: JsonValue, target: Target): JsonValue {
  if (target.isTyped) throw mismatch(walk, value, target.schema)
  return value
}

function refuseDeep(walk: Walk): void {
  if (walk.path.length >= depthMax) throw tooDeep(depthMax)
}

/**
 * As in Kubernetes, the message names the innermost struct and the path of field names, without map keys and
 * indexes.
 */
function mismatch(walk: Walk, value: JsonValue, schema: Schema): DecodeError {
  const fault = describeScalarFault(value, schema)
  if (fault.text !== undefined) {
    const isBytes = walk.isUnstructured && schema.type === 'string' && schema.format === 'byte'
    return new DecodeError('type', isBytes ? `error decoding from json: ${fault.text}` : fault.text)
  }
  if (walk.isUnstructured) return new DecodeError('type', describeRestoreFault(value, schema))
  const owner = walk.owners.findLast(each => each !== undefined)
  const fields = walk.path.filter((_segment, index) => walk.owners[index] !== undefined).join('.')
  const place = owner === undefined ? 'value' : `struct field ${typeNameOf(owner)}.${fields}`
  const target = `Go ${place} of type ${goTypeOf(schema)}`
  return new DecodeError('type', `json: cannot unmarshal ${fault.found} into ${target}`)
}
