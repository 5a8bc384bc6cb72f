import { isRegularExpression } from '../standard/regular-expressions.ts'
import { parseDuration, parseTimestamp } from '../standard/time-text.ts'
import type { Call } from '../syntax.ts'

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
