/** Rules of ServiceCIDR: one CIDR, or one per IP family; a second one may be added later. */
import { parseCidr, validateCidr } from '../../net/cidr.ts'
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { ServiceCIDR } from '../../generated/networking/v1.ts'
import type { KindRules } from '../../kind-rules.ts'

export const serviceCidrRules: KindRules<ServiceCIDR> = {
  validate: ({ spec }) => validateRanges(spec?.cidrs ?? []),
  validateUpdate: ({ spec }, old) => validateUpdate(spec?.cidrs ?? [], old.spec?.cidrs ?? []),
}

const field = 'spec.cidrs'

function validateRanges(ranges: readonly string[]): FieldError[] {
  if (ranges.length === 0) return [required(field, 'at least one CIDR required')]
  if (ranges.length > 2) return [invalid(field, { CIDRs: ranges }, 'may only hold up to 2 values')]
  const errors = ranges.flatMap((range, index) => validateCidr(`${field}[${index}]`, range))
  const [first, second] = ranges.map(range => parseCidr(range)?.family)
  if (first === undefined || first !== second) return errors
  const detail = 'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
  return [...errors, invalid(field, ranges, detail)]
}

function validateUpdate(ranges: readonly string[], old: readonly string[]): FieldError[] {
  const isExtended = old.length === 1 && ranges.length === 2
  if (ranges.length !== old.length && !isExtended) return [invalid(field, ranges, 'field is immutable')]
  const errors = old.flatMap((range, index) => {
    return range === ranges[index] ? [] : [invalid(`${field}[${index}]`, ranges[index], 'field is immutable')]
  })
  return isExtended ? [...errors, ...validateRanges(ranges)] : errors
}
