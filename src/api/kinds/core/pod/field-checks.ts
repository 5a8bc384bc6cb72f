/** Checks that many fields share. An absent value is fine unless the check says otherwise. */
import { invalid, invalidEach, notSupported, required, type FieldError } from '../../../field-error.ts'
import type { Int64 } from '../../../int64.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../../names.ts'

export function validateNonNegative(field: string, value: Int64 | undefined): FieldError[] {
  return value !== undefined && value < 0 ? [invalid(field, value, 'must be greater than or equal to 0')] : []
}

export function validatePositive(field: string, value: Int64): FieldError[] {
  return value > 0 ? [] : [invalid(field, value, 'must be greater than zero')]
}

/** A text or a list that must be there and not be empty. */
export function validatePresent(field: string, value: { readonly length: number } | undefined): FieldError[] {
  return value === undefined || value.length === 0 ? [required(field, '')] : []
}

/** One of a few words, and there must be one. */
export function validateChoice(
  field: string,
  value: string | undefined,
  choices: readonly string[],
): FieldError[] {
  return value === undefined || value === ''
    ? [required(field, '')]
    : validateOptionalChoice(field, value, choices)
}

/** One of a few words. */
export function validateOptionalChoice(
  field: string,
  value: string | undefined,
  choices: readonly string[],
): FieldError[] {
  return value === undefined || choices.includes(value) ? [] : [notSupported(field, value, choices)]
}

/** A name that must be there and stand up to a check of `names.ts`. */
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
