/**
 * Reset fields: fields that a write must not change, such as the status in a write to the main resource. They
 * are reset to their old value, so the write must not take ownership of them.
 */
import { recursiveDifference, fieldSet, transform, remainder, type FieldSet } from './field-set.ts'
import { fieldElement, fieldPath } from './path-element.ts'

/**
 * Removes from a field set the fields that the write must not change and that were reset to their old value.
 */
export type ResetFields = (fields: FieldSet, apiVersion: string) => FieldSet

/** Resets the fields with these paths: `excludeFields([['status']])`. */
export function excludeFields(paths: readonly (readonly string[])[]): ResetFields {
  const excluded = fieldSet(paths.map(path => fieldPath(...path)))
  return fields => recursiveDifference(fields, excluded)
}

/**
 * Resets everything except these fields and their descendants. `*` matches any single element, including a
 * list item.
 */
export function includeFields(patterns: readonly (readonly string[])[]): ResetFields {
  return fields => matching(fields, patterns)
}

/** Elements on the way to a match are kept, with their membership unchanged. */
function matching(fields: FieldSet, patterns: readonly (readonly string[])[]): FieldSet {
  if (patterns.some(pattern => pattern.length === 0)) return fields
  return transform(fields, (node, element) => {
    const rest = patterns.filter(([step = '*']) => step === '*' || fieldElement(step) === element)
    if (rest.length === 0) return undefined
    return remainder(
      node,
      node.member,
      matching(
        node.children,
        rest.map(([, ...steps]) => steps),
      ),
    )
  })
}
