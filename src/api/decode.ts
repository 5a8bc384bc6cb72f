/**
 * A parsed value checked against its schema, in one walk. What fits is returned as it is, the very same
 * objects; what must change is rebuilt on the way to it and shared elsewhere. Unknown fields are dropped and
 * reported, nulls are dropped, so is what is empty where that is the same as absent, and quantities, times and
 * bytes get the form in which the API answers them. A wrong type throws, with the message that Kubernetes' users
 * know. It is not validation: whether a well-typed value makes sense is decided later.
 */
import { DecodeError } from './decode-error.ts'
import { describeScalarFault, goTypeOf, readScalar, typeNameOf } from './decode-scalar.ts'
import { formatJsonPath } from './json-path.ts'
import { depthMax, tooDeep } from './json.ts'
import type { JsonValue } from './json-value.ts'
import { isObject, put, type JsonObject } from './patch/json-object.ts'
import type { ListSchema, MapSchema, Schema, StructSchema } from './schema.ts'

export interface DecodeOptions {
  /**
   * The schema is a custom resource's: types and nulls in it are for its validation to judge, with a better
   * answer than this walk could give. Metadata, and whatever else in it has a name of its own, is checked all
   * the same.
   */
  readonly customResource?: boolean
  /** What is empty is kept: who applies it comes to own it, though it is not shown. */
  readonly keepsEmpty?: boolean
}

export interface Decoded {
  readonly value: JsonObject
  /**
   * The paths of the first fields that were dropped because the schema does not have them:
   * `spec.containers[0].imagee`.
   */
  readonly unknownFields: readonly string[]
}

/** Unknown fields that are reported; all of them are dropped. */
export const unknownFieldsMax = 100

/** Throws DecodeError when a value has the wrong type. */
export function decode(value: JsonValue, schema: StructSchema, options: DecodeOptions = {}): Decoded {
  const walk: Walk = { path: [], owners: [], unknownFields: [], keepsEmpty: options.keepsEmpty === true }
  const isTyped = options.customResource !== true
  const decoded = value === null ? {} : decodeStruct(walk, value, { schema, isTyped })
  // Not an object is what a custom resource's validation would have refused, but it has nowhere to start
  // from.
  if (!isObject(decoded)) throw mismatch(walk, value, schema)
  return { value: decoded, unknownFields: walk.unknownFields }
}

interface Walk {
  /** Keys and indexes from the top to where the walk is. */
  readonly path: (string | number)[]
  /** For each of them the struct that it is a field of; undefined for keys of maps and indexes. */
  readonly owners: (StructSchema | undefined)[]
  readonly unknownFields: string[]
  readonly keepsEmpty: boolean
}

/** A schema, and whether values must have its types: the inside of a custom resource need not. */
interface Target<S extends Schema = Schema> {
  readonly schema: S
  readonly isTyped: boolean
}

function decodeValue(walk: Walk, value: JsonValue, target: Target): JsonValue {
  const { schema, isTyped } = target
  if (schema.type === 'struct') return decodeStruct(walk, value, { schema, isTyped: schema.name !== '' })
  if (schema.type === 'list') return decodeList(walk, value, { schema, isTyped })
  if (schema.type === 'map') return decodeMap(walk, value, { schema, isTyped })
  if (schema.type === 'any' || !isTyped) return value
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

/** Undefined when the field is to be dropped. */
function decodeField(walk: Walk, member: Member, target: Target<StructSchema>): JsonValue | undefined {
  const { key, value } = member
  // Only objects that were never text have those.
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
  // Half of all fields are these, and need no path to be kept for them.
  if (schema.type === 'any') return value
  const dropsEmpty = field.absentWhenEmpty === true && !walk.keepsEmpty
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

/** Null among the items of a list or map is the empty value of their type, since an item cannot be absent. */
function decodeItem(walk: Walk, value: JsonValue, target: Target): JsonValue {
  if (value !== null) return decodeValue(walk, value, target)
  return target.isTyped ? emptyValueOf(target.schema) : null
}

/** The members of an object in front of a key, as a new object. */
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
 * Kubernetes names the struct next to the value, the fields on the way from the top, and neither keys nor
 * indexes.
 */
function mismatch(walk: Walk, value: JsonValue, schema: Schema): DecodeError {
  const fault = describeScalarFault(value, schema)
  if (fault.text !== undefined) return new DecodeError('type', fault.text)
  const owner = walk.owners.findLast(each => each !== undefined)
  const fields = walk.path.filter((_segment, index) => walk.owners[index] !== undefined).join('.')
  const place = owner === undefined ? 'value' : `struct field ${typeNameOf(owner)}.${fields}`
  const target = `Go ${place} of type ${goTypeOf(schema)}`
  return new DecodeError('type', `json: cannot unmarshal ${fault.found} into ${target}`)
}
