/**
 * JSON of built-in kinds has nulls for absent lists, times and pointers, which objects in memory do not have: see
 * `zero-fields.ts`. Custom resources are encoded as they are.
 */
import { kindDefinition } from './definitions.ts'
import type { StructSchema } from './schema.ts'
import { parseJson } from './text/json.ts'
import { isObject } from './text/json-object.ts'
import type { JsonValue } from './text/json-value.ts'
import { withEncodedFields, withoutNullFields } from './zero-fields.ts'

/** The object, or list of objects, with the fields that JSON includes even if they are absent. */
export function encodedObject<T extends object>(object: T): T {
  const schema = schemaOf(object)
  return schema ? withEncodedFields(object, schema) : object
}

/** Parses an object, a list or a watch event. Throws DecodeError. */
export function parseEncodedObject(bytes: Uint8Array): JsonValue {
  const value = parseJson(bytes)
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (!isObject(value) || !view.includes(nullMember)) return value
  const { object } = value
  if (object === undefined || !isObject(object)) return decodedObject(value)
  const decoded = decodedObject(object)
  return decoded === object ? value : { ...value, object: decoded }
}

const nullMember = Buffer.from(':null')

function decodedObject<T extends object>(object: T): T {
  const schema = schemaOf(object)
  return schema ? withoutNullFields(object, schema) : object
}

function schemaOf(object: {
  readonly apiVersion?: unknown
  readonly kind?: unknown
}): StructSchema | undefined {
  const { apiVersion, kind } = object
  return typeof apiVersion === 'string' && typeof kind === 'string'
    ? kindDefinition(apiVersion, kind)
    : undefined
}
