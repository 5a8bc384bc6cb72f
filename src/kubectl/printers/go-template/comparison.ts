import { compareText, isFloat, isNumber, typeOf, type GoValue } from '../go-format.ts'
import { sprintf } from './printf.ts'
import { numberOf, unbox, type TemplateValue } from './template-value.ts'

/** `eq`. Throws an error with Go's message if the types cannot be compared. */
export function areEqual(left: TemplateValue, right: TemplateValue): boolean {
  const a = unbox(left)
  const b = unbox(right)
  const kind = kindOf(a)
  if (kind !== kindOf(b)) {
    if (a === undefined || b === undefined) return false
    throw incompatible(a, b)
  }
  if (kind !== 'other') return compareBasic(a, b) === 0
  if (a === undefined || b === undefined) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) {
    throw new Error(sprintf('non-comparable types %s: %v, %s: %v', [a, typeOf(a), typeOf(b), b]))
  }
  throw new Error(sprintf('non-comparable type %s: %v', [b, typeOf(b)]))
}

/** `lt`. Throws an error with Go's message if the types have no order. */
export function isLess(left: TemplateValue, right: TemplateValue): boolean {
  const a = unbox(left)
  const b = unbox(right)
  const kinds = [kindOf(a), kindOf(b)]
  if (kinds.includes('other')) throw new Error(invalidType)
  if (kinds[0] !== kinds[1]) throw incompatible(a, b)
  if (kinds[0] === 'boolean') throw new Error(invalidType)
  return compareBasic(a, b) < 0
}

const invalidType = 'invalid type for comparison'

function incompatible(a: GoValue, b: GoValue): Error {
  return new Error(`incompatible types for comparison: ${typeOf(a)} and ${typeOf(b)}`)
}

function kindOf(value: GoValue): 'boolean' | 'float' | 'integer' | 'other' | 'string' {
  if (isNumber(value)) return isFloat(value) ? 'float' : 'integer'
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'boolean' : 'other'
}

/** Of values of one kind. */
function compareBasic(a: GoValue, b: GoValue): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  const left = isNumber(a) ? numberOf(a) : Number(a)
  const right = isNumber(b) ? numberOf(b) : Number(b)
  return left < right ? -1 : left > right ? 1 : 0
}
