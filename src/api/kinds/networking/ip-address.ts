/** Rules of IPAddress: the name is the address, and `parentRef` is immutable. */
import { required, type FieldError } from '../../field-error.ts'
import type { IPAddress } from '../../generated/networking/v1.ts'
import { validateIp } from '../../net/ip.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkPathSegmentName, type NameRule } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateDnsSubdomain, validateRequiredName } from '../validation/field-checks.ts'

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
