/**
 * The three-way patches of `kubectl apply`, from the last applied configuration, the new one and the live
 * object. They apply the changes of the user and keep fields added by other managers.
 */
import type { Schema } from '../schema.ts'
import { findConflicts } from './conflicts.ts'
import { createStrategicMergePatch, diffVersions } from './create-merge-patch.ts'
import { anySchema } from './field-strategy.ts'
import { get, isObject, type JsonObject } from '../text/json-object.ts'
import type { Versions } from './versions.ts'

export interface ThreeWayOptions {
  /**
   * Overwrites fields that other managers have changed since the last apply; if false, they are conflicts.
   */
  readonly overwrite: boolean
  /** Paths that the patch must not change: `[['kind'], ['metadata', 'name']]`. */
  readonly preconditions: readonly (readonly string[])[]
}

export type ThreeWayPatch =
  | { readonly outcome: 'patch'; readonly patch: JsonObject }
  /** Fields that other managers have changed and the patch would change to another value. */
  | { readonly outcome: 'conflict'; readonly fields: readonly string[] }
  /** The patch would change a path of the preconditions. */
  | { readonly outcome: 'precondition'; readonly field: string }

/** The three-way strategic merge patch, for kinds with a schema. */
export function createThreeWayStrategicMergePatch(
  versions: Versions<JsonObject>,
  schema: Schema,
  options: ThreeWayOptions,
): ThreeWayPatch {
  const patch = diffVersions(versions, schema)
  const touched = options.preconditions.find(path => touches(patch, path))
  if (touched !== undefined) return { outcome: 'precondition', field: touched.join('.') }
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
