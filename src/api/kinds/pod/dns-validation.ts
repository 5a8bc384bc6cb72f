/** Validation of DNS configuration, host aliases and hostname. */
import {
  forbiddenField,
  invalid,
  invalidEach,
  required,
  tooLong,
  type FieldError,
} from '../../field-error.ts'
import type { HostAlias, PodSpec } from '../../generated/core/v1.ts'
import { validateIpForLegacyField } from '../../net/ip.ts'
import { checkDns1123SubdomainWithUnderscore } from '../../names.ts'
import { validateChoice, validateDnsLabel, validateDnsSubdomain } from '../validation/field-checks.ts'

const dnsPolicies = ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']

export function validateDnsPolicy(field: string, policy: string | undefined): FieldError[] {
  return validateChoice(field, policy, dnsPolicies)
}

/** Limit of the resolver in libc. */
const nameserversMax = 3
const searchesMax = 32
const searchCharactersMax = 2048

export function validateDnsConfig(field: string, { dnsConfig, dnsPolicy }: PodSpec): FieldError[] {
  const { nameservers = [], searches = [], options = [] } = dnsConfig ?? {}
  if (dnsPolicy === 'None' && dnsConfig === undefined) {
    return [required(field, 'must provide `dnsConfig` when `dnsPolicy` is None')]
  }
  if (dnsPolicy === 'None' && nameservers.length === 0) {
    const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None'
    return [required(`${field}.nameservers`, detail)]
  }
  const errors: FieldError[] = []
  if (nameservers.length > nameserversMax) {
    errors.push(
      invalid(`${field}.nameservers`, nameservers, `must not have more than ${nameserversMax} nameservers`),
    )
  }
  for (const [index, address] of nameservers.entries()) {
    errors.push(...validateIpForLegacyField(`${field}.nameservers[${index}]`, address))
  }
  errors.push(...validateSearches(`${field}.searches`, searches))
  for (const [index, option] of options.entries()) {
    if (!option.name) errors.push(required(`${field}.options[${index}]`, 'must not be empty'))
  }
  return errors
}

function validateSearches(field: string, searches: readonly string[]): FieldError[] {
  const errors: FieldError[] = []
  if (searches.length > searchesMax) {
    errors.push(invalid(field, searches, `must not have more than ${searchesMax} search paths`))
  }
  if (searches.join(' ').length > searchCharactersMax) {
    const detail = `must not have more than ${searchCharactersMax} characters (including spaces) in the search list`
    errors.push(invalid(field, searches, detail))
  }
  for (const [index, search] of searches.entries()) {
    const domain = search.endsWith('.') ? search.slice(0, -1) : search
    if (search === '.') continue
    errors.push(...invalidEach(`${field}[${index}]`, domain, checkDns1123SubdomainWithUnderscore(domain)))
  }
  return errors
}

export function validateHostAliases(field: string, aliases: readonly HostAlias[]): FieldError[] {
  return aliases.flatMap(({ ip = '', hostnames = [] }: Partial<HostAlias>, index) => [
    ...validateIpForLegacyField(`${field}[${index}].ip`, ip),
    ...hostnames.flatMap((name, position) => {
      return validateDnsSubdomain(`${field}[${index}].hostnames[${position}]`, name)
    }),
  ])
}

/** Maximum length of a hostname on Linux. */
const hostnameBytesMax = 64

export function validateHostname(field: string, spec: PodSpec): FieldError[] {
  const { hostname, subdomain, hostnameOverride: override } = spec
  const errors = [
    ...(hostname ? validateDnsLabel(`${field}.hostname`, hostname) : []),
    ...(subdomain ? validateDnsLabel(`${field}.subdomain`, subdomain) : []),
  ]
  if (override === undefined) return errors
  const place = `${field}.hostnameOverride`
  if (spec.setHostnameAsFQDN) {
    errors.push(forbiddenField(place, 'may not be specified when setHostnameAsFQDN is true'))
  }
  if (spec.hostNetwork) errors.push(forbiddenField(place, 'may not be specified when hostNetwork is true'))
  if (override.length > hostnameBytesMax) errors.push(tooLong(place, hostnameBytesMax))
  return [...errors, ...validateDnsSubdomain(place, override)]
}
