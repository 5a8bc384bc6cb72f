import { isRegularExpression } from '../standard/regular-expressions.ts'
import { parseDuration, parseTimestamp } from '../standard/time-text.ts'
import type { Call } from '../syntax.ts'
import {
  boolType,
  bytesType,
  doubleType,
  dynType,
  intType,
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
