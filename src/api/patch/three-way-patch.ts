/**
 * The patches that `kubectl apply` sends: from the configuration applied last, the new one and the object as
 * it is now. They change what the user has changed and leave what others have added.
 */
import type { Schema } from '../schema.ts'
import { findConflicts } from './conflicts.ts'
import { createStrategicMergePatch, diffVersions } from './create-merge-patch.ts'
import { anySchema } from './field-strategy.ts'
import { get, isObject, type JsonObject } from './json-object.ts'
import type { Versions } from './versions.ts'

export interface ThreeWayOptions {
  /** Whether to take fields from others who have changed them since; false makes that a conflict. */
  readonly overwrite: boolean
  /** Paths of members that the patch must not touch: `[['kind'], ['metadata', 'name']]`. */
  readonly fixed: readonly (readonly string[])[]
}

export type ThreeWayPatch =
  | { readonly outcome: 'patch'; readonly patch: JsonObject }
  /** Fields that others have changed and the patch would change to something else. */
  | { readonly outcome: 'conflict'; readonly fields: readonly string[] }
  /** The patch would change a member that it must not touch. */
  | { readonly outcome: 'fixed'; readonly field: string }

/** The three-way strategic merge patch, for kinds with a schema that knows how lists merge. */
export function createThreeWayStrategicMergePatch(
  versions: Versions<JsonObject>,
  schema: Schema,
  options: ThreeWayOptions,
): ThreeWayPatch {
  const patch = diffVersions(versions, schema)
  const touched = options.fixed.find(path => touches(patch, path))
  if (touched !== undefined) return { outcome: 'fixed', field: touched.join('.') }
  if (options.overwrite) return { outcome: 'patch', patch }
  const theirs = createStrategicMergePatch(versions.original ?? {}, versions.current, schema)
  const fields = findConflicts(patch, theirs, schema)
  return fields.length > 0 ? { outcome: 'conflict', fields } : { outcome: 'patch', patch }
}

/** The three-way JSON merge patch, for custom resources. */
export function createThreeWayMergePatch(
  versions: Versions<JsonObject>,
  options: ThreeWayOptions,
): ThreeWayPatch {
  return createThreeWayStrategicMergePatch(versions, anySchema, options)
}

function touches(patch: JsonObject, path: readonly string[]): boolean {
  let here: JsonObject = patch
  for (const [level, name] of path.entries()) {
    const value = get(here, name)
    if (value === undefined) return false
    if (level === path.length - 1) return true
    if (!isObject(value)) return true
    here = value
  }
  return false
}
