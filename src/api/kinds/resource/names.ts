/** Validation of the names of pools, devices, requests and attributes. */
import { invalid, invalidEach, required, tooLong, type FieldError } from '../../field-error.ts'
import { checkCIdentifier, checkDns1123Label, checkDns1123Subdomain } from '../../names.ts'
import {
  validateCsiDriverName,
  validateDnsSubdomain,
  validateRequiredName,
} from '../validation/field-checks.ts'

/** DNS subdomains separated by slashes. */
export function validatePoolName(field: string, name = ''): FieldError[] {
  if (name === '') return [required(field, '')]
  return [
    ...(Buffer.byteLength(name) > poolNameBytesMax ? [tooLong(field, poolNameBytesMax)] : []),
    ...name.split('/').flatMap(part => validateDnsSubdomain(field, part)),
  ]
}

/** Devices, requests and counters have DNS labels as names. */
export function validateLabelName(field: string, name = ''): FieldError[] {
  return invalidEach(field, name, checkDns1123Label(name))
}

export function validateClassName(field: string, name: string | undefined): FieldError[] {
  return validateRequiredName(field, name, checkDns1123Subdomain)
}

/** An attribute or capacity name; without a domain it belongs to the driver. */
export function validateQualifiedName(field: string, name: string): FieldError[] {
  const [first = '', second, ...more] = name.split('/')
  if (second === undefined) return validateIdentifier(field, first)
  if (more.length > 0) return [invalid(field, name, 'must have at most one slash')]
  return [
    ...(first === ''
      ? [invalid(field, '', 'the domain must not be empty')]
      : validateCsiDriverName(field, first)),
    ...(second === ''
      ? [invalid(field, '', 'the name must not be empty')]
      : validateIdentifier(field, second)),
  ]
}

/** An attribute name with a domain. */
export function validateFullyQualifiedName(field: string, name: string): FieldError[] {
  const errors = validateQualifiedName(field, name)
  if (name.includes('/')) return errors
  const detail = 'a fully qualified name must be a domain and a name separated by a slash'
  return [...errors, invalid(field, name, detail)]
}

/** A share ID, which identifies one of several allocations of a device. */
export function validateUuid(field: string, text: string | undefined): FieldError[] {
  if (text === undefined || /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return []
  const detail =
    'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with ' +
    'lowercase hexadecimal characters'
  return [invalid(field, text, detail)]
}

const poolNameBytesMax = 253
const identifierBytesMax = 32

function validateIdentifier(field: string, text: string): FieldError[] {
  return [
    ...(Buffer.byteLength(text) > identifierBytesMax ? [tooLong(field, identifierBytesMax)] : []),
    ...invalidEach(field, text, checkCIdentifier(text)),
  ]
}
