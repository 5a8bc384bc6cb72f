/** Finds matches of a regular expression: `"abc 123".find("[0-9]+")`. */
import type { Match } from '#/base/regular-expression.ts'
import { Fault } from '../fault.ts'
import { method, type Library } from '../function.ts'
import { withPattern } from '../standard/regular-expressions.ts'
import { intType, listOf, stringType } from '../type.ts'
import { list, type ListValue } from '../value.ts'
import { bySearch } from './costs.ts'

const textAndPattern = [stringType, stringType] as const

export const regularExpressionLibrary: Library = {
  overloads: [
    method(
      'find',
      textAndPattern,
      stringType,
      (text, pattern) => search(text, pattern, 1)[0] ?? '',
      bySearch,
    ),
    method(
      'findAll',
      textAndPattern,
      listOf(stringType),
      (text, pattern) => findAll(text, pattern, -1n),
      bySearch,
    ),
    method('findAll', [...textAndPattern, intType], listOf(stringType), findAll, bySearch),
  ],
}

/** A negative limit means unlimited. */
function findAll(text: string, pattern: string, limit: bigint): ListValue {
  return list(search(text, pattern, limit < 0n ? Infinity : Number(limit)))
}

function search(text: string, pattern: string, countMax: number): string[] {
  try {
    const matches = withPattern<Match[]>(pattern, expression => expression.matchAll(text, countMax))
    return matches.map(({ start, end }) => text.slice(start, end))
  } catch (error) {
    const isIllegal = error instanceof Fault && error.message.startsWith('error parsing regexp')
    throw isIllegal ? new Fault(`Illegal regex: ${error.message}`) : error
  }
}
