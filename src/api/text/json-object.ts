/**
 * JSON objects as immutable values with arbitrary keys: `__proto__` and `constructor` are data, never the
 * prototype. Read with `get`, change with `withChanges`; without changes the same object is returned.
 */
import { badRequest, type ApiError } from '../errors.ts'
import { toInt64 } from './int64.ts'
import type { JsonValue } from './json-value.ts'

export type JsonObject = { [key: string]: JsonValue }

/** Changes of members; `undefined` removes a member. */
export type Changes = ReadonlyMap<string, JsonValue | undefined>

export type Scalar = null | boolean | number | bigint | string

/** Maximum nesting of a patch: far beyond any real object, and safe for the stack. */
export const depthMax = 1_000

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isScalar(value: JsonValue | undefined): value is Scalar {
  return value !== undefined && (typeof value !== 'object' || value === null)
}

export function get(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** Sets a member of an object that the caller has just created. */
export function put(object: JsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
  } else {
    object[key] = value
  }
}

export function withChanges(object: JsonObject, changes: Changes): JsonObject {
  if (changes.size === 0) return object
  const result: JsonObject = {}
  for (const key of Object.keys(object)) {
    const value = changes.has(key) ? changes.get(key) : object[key]
    if (value !== undefined) put(result, key, value)
  }
  for (const [key, value] of changes) {
    if (value !== undefined && !Object.hasOwn(object, key)) put(result, key, value)
  }
  return result
}

/** Key for maps and sets: a bigint and a number of the same value are equal. */
export function identityOf(value: Scalar): Scalar {
  return typeof value === 'bigint' ? toInt64(value) : value
}

export function tooDeep(): ApiError {
  return badRequest(`the document is nested more than ${depthMax} levels deep`)
}
