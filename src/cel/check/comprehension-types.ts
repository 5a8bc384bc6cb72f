import type { ComprehensionOperator } from '../syntax.ts'
import { boolType, dynType, intType, listOf, mapOf, type Type } from '../type.ts'

/** The types of the iteration variables; undefined if the range type cannot be iterated. */
export function rangeTypes(range: Type, variables: number): readonly Type[] | undefined {
  if (range.kind === 'list') return variables === 1 ? [range.element] : [intType, range.element]
  if (range.kind === 'map') return variables === 1 ? [range.key] : [range.key, range.value]
  return ['dyn', 'error', 'parameter'].includes(range.kind) ? [dynType, dynType] : undefined
}

/** Result type of a comprehension for the type of its body, and the type that the body must have. */
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
