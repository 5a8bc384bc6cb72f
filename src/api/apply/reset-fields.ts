/**
 * Fields that a write cannot touch, such as the status of an object that is not written through its status:
 * they are put back to what they were, so nobody may come to own them by that write.
 */
import { differenceBelow, fieldSet, transform, remainder, type FieldSet } from './field-set.ts'
import type { ResetFields } from './ownership.ts'
import { fieldElement, fieldPath } from './path-element.ts'

/** Resets these fields, given as paths of names: `exceptFields([['status']])`. */
export function exceptFields(paths: readonly (readonly string[])[]): ResetFields {
  const excluded = fieldSet(paths.map(path => fieldPath(...path)))
  return fields => differenceBelow(fields, excluded)
}

/**
 * Resets all but these fields and what is below them. `*` stands for any one step, also to an item of a list.
 */
export function onlyFields(patterns: readonly (readonly string[])[]): ResetFields {
  return fields => matching(fields, patterns)
}

/** A step on the way to a pattern's end stays, as a member if it was one. */
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
