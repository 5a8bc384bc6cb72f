import { LruMap } from '#/base/lru-map.ts'
import {
  compileRegularExpression,
  type RegularExpression,
  RegularExpressionError,
} from '#/base/regular-expression.ts'
import { Fault } from '../fault.ts'

/** Maximum number of cached compiled patterns, shared by all expressions. */
const keptPatternsMax = 256
/** Longer patterns are not cached, to bound memory. */
const keptPatternCharactersMax = 1_000

const kept = new LruMap<string, RegularExpression>(keptPatternsMax)

/** The cost of a search: about the product of the lengths of text and pattern. */
export function searchCost(text: string, pattern: string): number {
  return Math.max(1, Math.ceil((1 + text.length) * 0.1) * Math.ceil(pattern.length * 0.25))
}

/**
 * Calls `action` with the compiled pattern. Throws Fault if the pattern is invalid or a search takes too
 * long.
 */
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
