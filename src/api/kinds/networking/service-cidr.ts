/** Rules of ServiceCIDR and IPAddress, the kinds with which cluster IPs are allocated. */
import { parseCidr, validateCidr } from '../../net/cidr.ts'
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { IPAddress, ServiceCIDR } from '../../generated/networking/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateIp } from '../../net/ip.ts'
import { checkPathSegmentName, type NameRule } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateDnsSubdomain, validateRequiredName } from '../validation/field-checks.ts'

/** One CIDR, or one per IP family; a second one may be added later. */
export const serviceCidrRules: KindRules<ServiceCIDR> = {
  statusKeepsMetadata: true,
  validate: ({ spec }) => validateRanges(spec?.cidrs ?? []),
  validateUpdate: ({ spec }, old) => validateRangesUpdate(spec?.cidrs ?? [], old.spec?.cidrs ?? []),
}

const cidrsField = 'spec.cidrs'

function validateRanges(ranges: readonly string[]): FieldError[] {
  if (ranges.length === 0) return [required(cidrsField, 'at least one CIDR required')]
  if (ranges.length > 2) return [invalid(cidrsField, { CIDRs: ranges }, 'may only hold up to 2 values')]
  const errors = ranges.flatMap((range, index) => validateCidr(`${cidrsField}[${index}]`, range))
  const [first, second] = ranges.map(range => parseCidr(range)?.family)
  if (first === undefined || first !== second) return errors
  const detail = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
  return [...errors, invalid(cidrsField, ranges, detail)]
}

function validateRangesUpdate(ranges: readonly string[], old: readonly string[]): FieldError[] {
  const isExtended = old.length === 1 && ranges.length === 2
  if (ranges.length !== old.length && !isExtended) return [invalid(cidrsField, ranges, 'field is immutable')]
  const errors = old.flatMap((range, index) => {
    return range === ranges[index]
      ? []
      : [invalid(`${cidrsField}[${index}]`, ranges[index], 'field is immutable')]
  })
  return isExtended ? [...errors, ...validateRanges(ranges)] : errors
}

/** The name is the address, and `parentRef` is immutable. */
export const ipAddressRules: KindRules<IPAddress> = {
  names: addressNames(),
  validate: validateIpAddress,
  validateUpdate: (address, old) => [
    ...validateIpAddress(address),
    ...validateImmutable(address.spec?.parentRef, old.spec?.parentRef, 'spec.parentRef'),
  ],
}

function addressNames(): NameRule {
  const check = (name: string) => validateIp('', name).map(error => error.detail)
  return { name: check, prefix: check }
}

function validateIpAddress({ spec }: IPAddress): FieldError[] {
  const parent = spec?.parentRef
  const field = 'spec.parentRef'
  if (parent === undefined) return [required(field, '')]
  const { group, resource, name, namespace } = parent
  return [
    ...(group ? validateDnsSubdomain(`${field}.group`, group) : []),
    ...validateRequiredName(`${field}.resource`, resource, checkPathSegmentName),
    ...validateRequiredName(`${field}.name`, name, checkPathSegmentName),
    ...(namespace ? validateRequiredName(`${field}.namespace`, namespace, checkPathSegmentName) : []),
  ]
}
