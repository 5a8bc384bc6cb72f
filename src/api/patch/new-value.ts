import type { JsonValue } from '../json-value.ts'
import { isDirective, patchDirective } from './directives.ts'
import { depthMax, isObject, isScalar, tooDeep, withChanges, type JsonObject } from './json-object.ts'

/**
 * The value of a strategic merge patch where there is nothing to merge it with: directives are removed, and
 * so are nulls, which have nothing to delete. `undefined` if the patch only deletes.
 */
export function newValue(patch: JsonValue, depth: number): JsonValue | undefined {
  if (isScalar(patch)) return patch
  if (depth > depthMax) throw tooDeep()
  if (Array.isArray(patch)) return newList(patch, depth)
  return patchDirective(patch) === 'delete' ? undefined : newObject(patch, depth)
}

/** The members of a patch as a new object, regardless of its own `$patch` directive. */
export function newObject(patch: JsonObject, depth: number): JsonObject {
  const changes = new Map<string, JsonValue | undefined>()
  for (const [key, value] of Object.entries(patch)) {
    const made = value === null || isDirective(key) ? undefined : newValue(value, depth + 1)
    if (made !== value) changes.set(key, made)
  }
  return withChanges(patch, changes)
}

/** An item with `$patch: replace` or `$patch: delete` applies to the list and is not an item. */
export function newList(patch: JsonValue[], depth: number): JsonValue[] {
  const made = patch.flatMap(item => {
    if (isObject(item) && (patchDirective(item) ?? 'merge') !== 'merge') return []
    // The brackets keep flatMap from flattening an item that is itself a list.
    return [newValue(item, depth + 1) ?? null]
  })
  return sameItems(patch, made) ? patch : made
}

export function sameItems(left: readonly JsonValue[], right: readonly JsonValue[]): boolean {
  return left.length === right.length && left.every((item, index) => item === right[index])
}
