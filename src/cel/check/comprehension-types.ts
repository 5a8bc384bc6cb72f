import type { ComprehensionOperator } from '../syntax.ts'
import { boolType, dynType, intType, listOf, mapOf, type Type } from '../type.ts'

/** The types of the variables of a loop over a range; undefined when the type is none to loop over. */
export function rangeTypes(range: Type, variables: number): readonly Type[] | undefined {
  if (range.kind === 'list') return variables === 1 ? [range.element] : [intType, range.element]
  if (range.kind === 'map') return variables === 1 ? [range.key] : [range.key, range.value]
  return ['dyn', 'error', 'parameter'].includes(range.kind) ? [dynType, dynType] : undefined
}

/** What a comprehension gives for the type of its body, and what that must be. */
export function comprehensionResult(
  operator: ComprehensionOperator,
  body: Type,
  firstVariable: Type,
): { type: Type; expected: Type } | { type: Type } {
  switch (operator) {
    case 'all':
    case 'exists':
    case 'existsOne':
      return { type: boolType, expected: boolType }
    case 'map':
    case 'filter':
    case 'transformList':
      return { type: listOf(body) }
    case 'transformMap':
      return { type: mapOf(firstVariable, body) }
    case 'transformMapEntry':
      return body.kind === 'map'
        ? { type: body }
        : { type: mapOf(dynType, dynType), expected: mapOf(dynType, dynType) }
  }
}
