/** JSON merge patch (RFC 7386): objects are merged, null removes a member, everything else is replaced. */
import { equalJson, type JsonValue } from '../text/json-value.ts'
import { depthMax, get, isObject, tooDeep, withChanges } from '../text/json-object.ts'

/** Returns the target itself if the patch changes nothing. */
export function applyMergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  return merge(target, patch, 0)
}

function merge(target: JsonValue | undefined, patch: JsonValue, depth: number): JsonValue {
  if (depth > depthMax) throw tooDeep()
  if (!isObject(patch)) return target !== undefined && equalJson(target, patch) ? target : patch
  const before = isObject(target) ? target : {}
  const changes = new Map<string, JsonValue | undefined>()
  for (const [key, value] of Object.entries(patch)) {
    const current = get(before, key)
    const merged = value === null ? undefined : merge(current, value, depth + 1)
    if (merged !== current) changes.set(key, merged)
  }
  return withChanges(before, changes)
}
