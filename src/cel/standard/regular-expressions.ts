import { LruMap } from '#/base/lru-map.ts'
import {
  compileRegularExpression,
  type RegularExpression,
  RegularExpressionError,
} from '#/base/regular-expression.ts'
import { Fault } from '../fault.ts'

/** Compiled patterns kept, of all expressions together; others are compiled again. */
const keptPatternsMax = 256
/** Longer patterns are not kept: they would take too much memory. */
const keptPatternCharactersMax = 1_000

const kept = new LruMap<string, RegularExpression>(keptPatternsMax)

/** What a search costs: about the product of the text's and the pattern's lengths. */
export function searchCost(text: string, pattern: string): number {
  return Math.max(1, Math.ceil((1 + text.length) * 0.1) * Math.ceil(pattern.length * 0.25))
}

/** Calls with the compiled pattern. Throws Fault when it is none or a search takes too long. */
export function withPattern<T>(pattern: string, action: (expression: RegularExpression) => T): T {
  try {
    return action(compileKept(pattern))
  } catch (error) {
    if (error instanceof RegularExpressionError) throw new Fault(error.message)
    throw error
  }
}

export function isRegularExpression(pattern: string): boolean {
  try {
    compileKept(pattern)
    return true
  } catch (error) {
    if (error instanceof RegularExpressionError) return false
    throw error
  }
}

function compileKept(pattern: string): RegularExpression {
  const known = kept.get(pattern)
  if (known !== undefined) return known
  const expression = compileRegularExpression(pattern)
  if (pattern.length <= keptPatternCharactersMax) kept.set(pattern, expression)
  return expression
}
