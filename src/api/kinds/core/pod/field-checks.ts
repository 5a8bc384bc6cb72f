/** Common field checks. An absent value is valid unless stated otherwise. */
import { invalid, invalidEach, notSupported, required, type FieldError } from '../../../field-error.ts'
import type { Int64 } from '../../../int64.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../../names.ts'

export function validateNonNegative(field: string, value: Int64 | undefined): FieldError[] {
  return value !== undefined && value < 0 ? [invalid(field, value, 'must be greater than or equal to 0')] : []
}

export function validatePositive(field: string, value: Int64): FieldError[] {
  return value > 0 ? [] : [invalid(field, value, 'must be greater than zero')]
}

/** Validates that a string or list is set and not empty. */
export function validatePresent(field: string, value: { readonly length: number } | undefined): FieldError[] {
  return value === undefined || value.length === 0 ? [required(field, '')] : []
}

/** Validates a mandatory enum value. */
export function validateChoice(
  field: string,
  value: string | undefined,
  choices: readonly string[],
): FieldError[] {
  return value === undefined || value === ''
    ? [required(field, '')]
    : validateOptionalChoice(field, value, choices)
}

/** Validates an optional enum value. */
export function validateOptionalChoice(
  field: string,
  value: string | undefined,
  choices: readonly string[],
): FieldError[] {
  return value === undefined || choices.includes(value) ? [] : [notSupported(field, value, choices)]
}

/** Validates a mandatory name with a check from `names.ts`. */
export function validateRequiredName(
  field: string,
  name: string | undefined,
  check: (name: string) => readonly string[],
): FieldError[] {
  return name ? invalidEach(field, name, check(name)) : [required(field, '')]
}

export function validateDnsLabel(field: string, value: string): FieldError[] {
  return invalidEach(field, value, checkDns1123Label(value))
}

export function validateDnsSubdomain(field: string, value: string): FieldError[] {
  return invalidEach(field, value, checkDns1123Subdomain(value))
}
