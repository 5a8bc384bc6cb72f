/**
 * JSON patch (RFC 6902), JSON merge patch (RFC 7386) and strategic merge patch: applying and creating them.
 * All functions are pure: the input is never modified, unchanged parts are shared with the result, and only
 * `ApiError` is thrown, for a patch that cannot be applied. Server-side apply is in `apply.ts`.
 */
import { describeType } from './decoding/decode-scalar.ts'
import { badRequest } from './errors.ts'
import type { JsonValue } from './text/json-value.ts'
import { isObject } from './text/json-object.ts'
import { applyJsonPatch } from './patch/json-patch.ts'
import { applyMergePatch } from './patch/merge-patch.ts'
import { applyStrategicMergePatch } from './patch/strategic-merge-patch.ts'
import type { Schema } from './schema.ts'

export { createJsonPatch, type JsonPatchOperation } from './patch/create-json-patch.ts'
export { JsonPatchTestError } from './patch/json-patch.ts'
export { createMergePatch, createStrategicMergePatch } from './patch/create-merge-patch.ts'

export { createThreeWayMergePatch, createThreeWayStrategicMergePatch } from './patch/three-way-patch.ts'

export type PatchKind = 'json' | 'merge' | 'strategic'

export interface PatchOptions {
  readonly current: JsonValue
  readonly patch: JsonValue
  readonly schema?: Schema | undefined
}

/**
 * Applies a patch to an object. A malformed patch gives 400, a failing operation 422, too many operations
 * 413. A strategic merge patch needs the schema, so it is not supported for custom resources.
 */
export function applyPatch(kind: PatchKind, { current, patch, schema }: PatchOptions): JsonValue {
  if (kind === 'json') return applyJsonPatch(current, patch)
  if (patch === null) {
    if (kind === 'merge') throw badRequest('Invalid JSON Patch')
    return current
  }
  if (!isObject(patch)) {
    const problem = `json: cannot unmarshal ${describeType(patch)} into Go value of type map[string]interface {}`
    throw badRequest(kind === 'merge' ? `error decoding patch: ${problem}` : problem)
  }
  if (kind === 'merge') return applyMergePatch(current, patch)
  if (schema === undefined) throw badRequest('strategic merge patch format is not supported')
  return applyStrategicMergePatch(current, patch, schema)
}
