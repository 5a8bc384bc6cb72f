/** Types of literals and comprehensions. */
import { isRegularExpression } from '../standard/regular-expressions.ts'
import { parseDuration, parseTimestamp } from '../standard/time-text.ts'
import type { Call, ComprehensionOperator } from '../syntax.ts'
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
  listOf,
  mapOf,
  nullType,
  stringType,
  uintType,
  type Type,
} from '../type.ts'
import { Uint, type Value } from '../value.ts'

/** Validates literal durations, timestamps and regular expressions at compile time. */
export function validateLiteral(call: Call): { offset: number; message: string } | undefined {
  const argument = call.parameters.at(-1)
  if (argument?.kind !== 'literal' || typeof argument.value !== 'string') return undefined
  return isValid(call.name, argument.value)
    ? undefined
    : { offset: argument.offset, message: `invalid ${call.name} argument` }
}

function isValid(name: string, text: string): boolean {
  switch (name) {
    case 'duration':
      return parseDuration(text) !== undefined
    case 'timestamp':
      return parseTimestamp(text) !== undefined
    case 'matches':
      return isRegularExpression(text)
    default:
      return true
  }
}

/** The type of a literal. */
export function literalType(value: Value): Type {
  if (value === null) return nullType
  if (typeof value === 'boolean') return boolType
  if (typeof value === 'bigint') return intType
  if (typeof value === 'number') return doubleType
  if (typeof value === 'string') return stringType
  if (value instanceof Uint) return uintType
  return value instanceof Uint8Array ? bytesType : dynType
}

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
