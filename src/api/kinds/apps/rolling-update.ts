/** Validation of `maxUnavailable` and `maxSurge`: a count, or a percentage of all pods. */
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import { checkPercent, percentOf, type IntOrString } from '../../text/int-or-string.ts'
import { parseInt64 } from '../../text/int64.ts'
import { validateNonNegative } from '../validation/field-checks.ts'

export function validatePositiveIntOrPercent(field: string, amount: IntOrString): FieldError[] {
  return typeof amount === 'number'
    ? validateNonNegative(field, amount)
    : invalidEach(field, amount, checkPercent(amount))
}

export function validateNotMoreThan100Percent(field: string, amount: IntOrString): FieldError[] {
  const isTooMuch = typeof amount === 'string' && checkPercent(amount).length === 0 && numberOf(amount) > 100
  return isTooMuch ? [invalid(field, amount, 'must not be greater than 100%')] : []
}

export function isZero(amount: IntOrString): boolean {
  return numberOf(amount) === 0
}

/** The count or the percentage; 0 for any other text. */
function numberOf(amount: IntOrString): number {
  return typeof amount === 'number' ? amount : (percentOf(amount) ?? Number(parseInt64(amount) ?? 0))
}
