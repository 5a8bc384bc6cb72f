/**
 * Reset fields: fields that a write must not change, such as the status in a write to the main resource. They
 * are reset to their old value, so the write must not take ownership of them.
 */
import { recursiveDifference, fieldSet, type FieldSet } from './field-set.ts'
import { fieldPath } from './path-element.ts'

/**
 * Removes from a field set the fields that the write must not change and that were reset to their old value.
 */
export type ResetFields = (fields: FieldSet, apiVersion: string) => FieldSet

/** Resets the fields with these paths: `excludeFields([['status']])`. */
export function excludeFields(paths: readonly (readonly string[])[]): ResetFields {
  const excluded = fieldSet(paths.map(path => fieldPath(...path)))
  return fields => recursiveDifference(fields, excluded)
}
