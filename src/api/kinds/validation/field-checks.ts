/** Common field checks. An absent value is valid unless stated otherwise. */
import { invalid, invalidEach, notSupported, required, tooLong, type FieldError } from '../../field-error.ts'
import type { Int64 } from '../../text/int64.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../names.ts'
import { parseIpLeniently } from '../../net/ip.ts'

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

/** Validates a mandatory enum value of a pointer field, which is present if it is empty. */
export function validatePresentChoice(
  field: string,
  value: string | undefined,
  choices: readonly string[],
): FieldError[] {
  return value === undefined ? [required(field, '')] : validateOptionalChoice(field, value, choices)
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

/** Validates the name under which a CSI driver registers. */
export function validateCsiDriverName(field: string, driver: string | undefined): FieldError[] {
  const errors = validateRequiredName(field, driver, name => checkDns1123Subdomain(name.toLowerCase()))
  return Buffer.byteLength(driver ?? '') > driverNameMax ? [tooLong(field, driverNameMax), ...errors] : errors
}

const driverNameMax = 63

/** The hostname of a load balancer, which must not be an IP address. */
export function validateBalancerHostname(field: string, hostname: string | undefined): FieldError[] {
  if (!hostname) return []
  const errors = validateDnsSubdomain(field, hostname)
  if (parseIpLeniently(hostname) === undefined) return errors
  return [...errors, invalid(field, hostname, 'must be a DNS name, not an IP address')]
}
