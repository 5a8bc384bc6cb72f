/**
 * The three classic patches of the API, and how to make them: JSON patch (RFC 6902), JSON merge patch (RFC
 * 7386) and strategic merge patch. All are pure: the input is never changed, what a patch does not touch is
 * shared with the result, and the only thing thrown is an `ApiError` for a patch that cannot be applied.
 * Server-side apply is not here.
 */
import { badRequest } from './errors.ts'
import type { JsonValue } from './json-value.ts'
import { isObject } from './patch/json-object.ts'
import { applyJsonPatch } from './patch/json-patch.ts'
import { applyMergePatch } from './patch/merge-patch.ts'
import { applyStrategicMergePatch } from './patch/strategic-merge-patch.ts'
import type { Schema } from './schema.ts'

export { createJsonPatch, type JsonPatchOperation } from './patch/create-json-patch.ts'
export { JsonPatchTestError } from './patch/json-patch.ts'
export { createMergePatch, createStrategicMergePatch } from './patch/create-merge-patch.ts'

export type PatchKind = 'json' | 'merge' | 'strategic'

/**
 * The object with a patch applied. A malformed patch is 400, one whose operation fails is 422, one with too
 * many operations is 413. A strategic merge patch needs the schema, so custom resources do not have it.
 */
export function applyPatch(
  kind: PatchKind,
  current: JsonValue,
  patch: JsonValue,
  schema?: Schema,
): JsonValue {
  if (kind === 'json') return applyJsonPatch(current, patch)
  if (!isObject(patch)) throw badRequest('error decoding patch: a merge patch is an object')
  if (kind === 'merge') return applyMergePatch(current, patch)
  if (schema === undefined) throw badRequest('strategic merge patch format is not supported')
  return applyStrategicMergePatch(current, patch, schema)
}
