/**
 * Validation of cluster IPs and IP families. A service has at most two addresses of different families, and
 * the primary one is immutable. https://kubernetes.io/docs/concepts/services-networking/dual-stack/
 */
import { enumValues } from '../../../definitions.ts'
import { duplicate, invalid, required, type FieldError } from '../../../field-error.ts'
import type { ServiceSpec } from '../../../generated/core/v1.ts'
import { parseIpLeniently, validateIpForLegacyField } from '../../../net/ip.ts'
import { repetitions } from '../../validation/repetitions.ts'
import { validateOptionalChoice } from '../../validation/field-checks.ts'
import { isHeadless } from './traits.ts'

/** `old` are the addresses of the old object. */
export function validateClusterIps(spec: ServiceSpec, old?: readonly string[]): FieldError[] {
  if (spec.type === 'ExternalName') return []
  const { clusterIPs = [], ipFamilyPolicy } = spec
  const addressErrors = validateAddresses(clusterIPs, old)
  const errors = [
    ...validateAgreement(spec),
    ...validateFamilies(spec.ipFamilies ?? []),
    ...validateOptionalChoice('spec.ipFamilyPolicy', ipFamilyPolicy, familyPolicies),
    ...addressErrors,
  ]
  if (clusterIPs.length > 2) errors.push(invalid(field, clusterIPs, 'may only hold up to 2 values'))
  // The families are not compared if an address is invalid.
  return addressErrors.length > 0 ? errors : [...errors, ...validateFamiliesOfAddresses(spec)]
}

/** An update may add or release the secondary address but must not change an address. */
export function validateClusterIpsUpdate(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  const { clusterIPs: now = [] } = spec
  const { clusterIPs: was = [] } = old
  if (hasNoAddresses(spec, old) || (isHeadless(spec) && isHeadless(old))) return []
  const changed = (index: number) => invalid(`${field}[${index}]`, now, 'may not change once set')
  if (was.length === now.length)
    return was.flatMap((ip, index) => (ip === now[index] ? [] : [changed(index)]))
  const errors: FieldError[] = []
  if (now.length === 0) errors.push(invalid(`${field}[0]`, now, 'primary clusterIP can not be unset'))
  if (was.length > 0 && now.length > 0 && was[0] !== now[0]) errors.push(changed(0))
  if (was.length > now.length && now.length === 1) errors.push(...validateSingleStack(spec, 'clusterIP'))
  return errors
}

export function validateIpFamiliesUpdate(spec: ServiceSpec, old: ServiceSpec): FieldError[] {
  const { ipFamilies: now = [], clusterIPs = [] } = spec
  const { ipFamilies: was = [] } = old
  if (hasNoAddresses(spec, old) || isHeadless(spec) || isHeadless(old)) return []
  const changed = (shown: readonly string[]) =>
    invalid('spec.ipFamilies[0]', shown, 'may not change once set')
  if (was.length === now.length) {
    return was.flatMap((family, index) => (family === now[index] ? [] : [changed(now)]))
  }
  const errors: FieldError[] = []
  if (was.length > now.length && clusterIPs.length === 0) {
    errors.push(invalid('spec.ipFamilies[0]', now, 'primary ipFamily can not be unset'))
  }
  if (was.length > 0 && now.length > 0 && was[0] !== now[0]) errors.push(changed(clusterIPs))
  if (was.length > now.length && now.length === 1) errors.push(...validateSingleStack(spec, 'ipFamily'))
  return errors
}

const field = 'spec.clusterIPs'
const families = ['IPv4', 'IPv6']
const familyPolicies = enumValues('core.IPFamilyPolicy')

function hasNoAddresses(spec: ServiceSpec, old: ServiceSpec): boolean {
  return spec.type === 'ExternalName' || old.type === 'ExternalName'
}

function validateSingleStack({ ipFamilyPolicy }: ServiceSpec, released: string): FieldError[] {
  if (ipFamilyPolicy === 'SingleStack') return []
  const detail = `must be set to 'SingleStack' when releasing the secondary ${released}`
  return [invalid('spec.ipFamilyPolicy', ipFamilyPolicy ?? null, detail)]
}

/** `clusterIP` must equal the first entry of `clusterIPs`. */
function validateAgreement({ clusterIP = '', clusterIPs = [] }: ServiceSpec): FieldError[] {
  if (clusterIP === '') {
    if (clusterIPs.length === 0) return []
    return [invalid(field, clusterIPs, 'must be empty when `clusterIP` is not specified')]
  }
  if (clusterIPs.length === 0) return [required(field, '')]
  return clusterIPs[0] === clusterIP ? [] : [invalid(field, clusterIPs, 'first value must match `clusterIP`')]
}

function validateFamilies(ipFamilies: readonly string[]): FieldError[] {
  const isRepeated = repetitions(ipFamilies)
  return ipFamilies.flatMap((family, index) => [
    ...validateOptionalChoice(`spec.ipFamilies[${index}]`, family, families),
    ...(isRepeated[index] ? [duplicate(`spec.ipFamilies[${index}]`, family)] : []),
  ])
}

/** Valid addresses, or `None` as the only entry. */
function validateAddresses(clusterIPs: readonly string[], old?: readonly string[]): FieldError[] {
  const known = new Set(old)
  return clusterIPs.flatMap((ip, index) => {
    if (known.has(ip)) return []
    if (index > 0 || ip !== 'None') return validateIpForLegacyField(`${field}[${index}]`, ip)
    if (clusterIPs.length === 1) return []
    return [invalid(field, clusterIPs, "'None' must be the first and only value")]
  })
}

function validateFamiliesOfAddresses(spec: ServiceSpec): FieldError[] {
  const { clusterIPs = [], ipFamilies = [] } = spec
  const errors: FieldError[] = []
  const found = clusterIPs.map(ip => parseIpLeniently(ip)?.family)
  if (clusterIPs.length > 1 && (found.length > 2 || found[0] === found[1])) {
    errors.push(invalid(field, clusterIPs, 'may specify no more than one IP for each IP family'))
  }
  if (isHeadless(spec)) return errors
  for (const [index, ip] of clusterIPs.entries()) {
    const family = found[index] === 6 ? 'IPv6' : 'IPv4'
    const expected = ipFamilies[index]
    if (expected === undefined || expected === family || !families.includes(expected)) continue
    const detail = `expected an ${expected} value as indicated by \`ipFamilies[${index}]\``
    errors.push(invalid(`${field}[${index}]`, ip, detail))
  }
  return errors
}
