import { compareText, GoNumber, isFloat, isNumber, type GoValue } from '../go-format.ts'
import { JsonPathError } from './json-path-error.ts'

export interface ValueComparison {
  readonly operator: string
  readonly left: GoValue
  readonly right: GoValue
}

/** The result of `==`, `!=`, `<`, `<=`, `>` or `>=`. Throws JsonPathError if the values cannot be compared. */
export function compareValues({ operator, left, right }: ValueComparison): boolean {
  switch (operator) {
    case '==':
      return order(left, right) === 0
    case '!=':
      return order(left, right) !== 0
    case '<':
      return orderOfSortable(left, right) < 0
    case '<=':
      return orderOfSortable(left, right) <= 0
    case '>':
      return orderOfSortable(left, right) > 0
    case '>=':
      return orderOfSortable(left, right) >= 0
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`)
  }
}

function orderOfSortable(left: GoValue, right: GoValue): number {
  const result = order(left, right)
  if (typeof left === 'boolean') throw new JsonPathError(invalidType)
  return result
}

const invalidType = 'invalid type for comparison'

function order(left: GoValue, right: GoValue): number {
  if (kindOf(left) !== kindOf(right)) throw new JsonPathError('incompatible types for comparison')
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right)
  const a = numberOf(left)
  const b = numberOf(right)
  return a < b ? -1 : a > b ? 1 : 0
}

function kindOf(value: GoValue): string {
  if (isNumber(value)) return isFloat(value) ? 'float' : 'integer'
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value
  throw new JsonPathError(invalidType)
}

function numberOf(value: GoValue): number | bigint {
  if (value instanceof GoNumber) return value.value
  return typeof value === 'bigint' ? value : Number(value)
}
