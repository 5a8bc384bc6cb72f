/**
 * Creates merge patches from versions of an object. A single traversal sets what differs between the current
 * and the modified version, and removes what the original has and the modified has not. With current as
 * original the result is a two-way patch; with the last applied configuration it is the three-way patch of
 * `kubectl apply`, which keeps fields added by other managers. Without a schema the result is a JSON merge
 * patch (RFC 7386).
 */
import { equalJson, type JsonValue } from '../text/json-value.ts'
import type { Schema } from '../schema.ts'
import { deletionKey, orderKey, retainKeysMarker } from './directives.ts'
import { anySchema, fieldStrategy, type FieldStrategy } from './field-strategy.ts'
import { depthMax, get, isObject, put, tooDeep, type JsonObject } from '../text/json-object.ts'
import { diffObjectLists, diffScalarLists, type ListDifference } from './list-difference.ts'
import type { Versions } from './versions.ts'

/** The JSON merge patch from the original to the modified value; it cannot set a member to null. */
export function createMergePatch(original: JsonValue, modified: JsonValue): JsonValue {
  if (!isObject(original) || !isObject(modified)) return modified
  return diffObjects({ original, modified, current: original }, { ...top, schema: anySchema })
}

/** The strategic merge patch from the original to the modified object. */
export function createStrategicMergePatch(
  original: JsonObject,
  modified: JsonObject,
  schema: Schema,
): JsonObject {
  return diffObjects({ original, modified, current: original }, { ...top, schema })
}

export function diffVersions(versions: Versions<JsonObject>, schema: Schema): JsonObject {
  return diffObjects(versions, { ...top, schema })
}

interface Level {
  readonly schema: Schema
  readonly retainKeys: boolean
  readonly depth: number
}

const top = { retainKeys: false, depth: 0 }

function diffObjects(versions: Versions<JsonObject>, { schema, retainKeys, depth }: Level): JsonObject {
  if (depth > depthMax) throw tooDeep()
  const { original, modified, current } = versions
  const patch: JsonObject = {}
  for (const [key, value] of Object.entries(modified)) {
    const field = { original: original && get(original, key), modified: value, current: get(current, key) }
    if (value === field.current && value === field.original) continue
    const strategy = fieldStrategy(schema, key)
    if (mergesLists(field, strategy)) {
      putList(patch, key, diffLists(field, strategy, depth + 1))
    } else {
      const difference = diffField(field, strategy, depth + 1)
      if (difference !== undefined) put(patch, key, difference)
    }
  }
  for (const key of Object.keys(original ?? {})) if (!Object.hasOwn(modified, key)) put(patch, key, null)
  if (retainKeys) putRetainedKeys(patch, versions)
  return patch
}

/**
 * Adds `$retainKeys` if the patch changes anything, or if the current object has members that must be
 * removed.
 */
function putRetainedKeys(patch: JsonObject, { modified, current }: Versions<JsonObject>): void {
  const kept = Object.keys(modified).filter(key => modified[key] !== null)
  const foreign = Object.keys(current).some(key => current[key] !== null && !Object.hasOwn(modified, key))
  const changes = foreign || Object.keys(patch).length > 0
  if (kept.length > 0 && changes) put(patch, retainKeysMarker, kept.sort())
}

interface FieldVersions<T extends JsonValue = JsonValue> {
  readonly original: JsonValue | undefined
  readonly modified: T
  readonly current: T | undefined
}

/** The patch for one field; `undefined` if it is unchanged. */
function diffField(field: FieldVersions, strategy: FieldStrategy, depth: number): JsonValue | undefined {
  const { modified, current } = field
  if (current === undefined) return modified ?? undefined
  if (!isObject(modified) || !isObject(current) || strategy.replace) {
    return equalJson(modified, current) ? undefined : modified
  }
  const original = isObject(field.original) ? field.original : undefined
  const { schema, retainKeys } = strategy
  const difference = diffObjects({ original, modified, current }, { schema, retainKeys, depth })
  return Object.keys(difference).length > 0 ? difference : undefined
}

function mergesLists(field: FieldVersions, strategy: FieldStrategy): field is FieldVersions<JsonValue[]> {
  return strategy.list.type !== 'replace' && Array.isArray(field.modified) && Array.isArray(field.current)
}

function diffLists(
  field: FieldVersions<JsonValue[]>,
  strategy: FieldStrategy,
  depth: number,
): ListDifference {
  const { list, retainKeys } = strategy
  const original = Array.isArray(field.original) ? field.original : undefined
  const versions = { original, modified: field.modified, current: field.current ?? [] }
  if (list.type !== 'merge-objects') return diffScalarLists(versions)
  const level = { schema: list.items, retainKeys, depth: depth + 1 }
  return diffObjectLists(versions, list.mergeKey, item => diffObjects(item, level))
}

function putList(patch: JsonObject, key: string, difference: ListDifference): void {
  if (difference.items.length > 0) put(patch, key, difference.items)
  if (difference.deletions.length > 0) put(patch, deletionKey(key), difference.deletions)
  if (difference.order.length > 0) put(patch, orderKey(key), difference.order)
}
