/** Validation of the Ingress spec. */
import { enumValues } from '../../definitions.ts'
import { invalid, invalidEach, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  HTTPIngressPath,
  IngressBackend,
  IngressRule,
  IngressServiceBackend,
  IngressSpec,
  IngressTLS,
} from '../../generated/networking/v1.ts'
import { parseIpLeniently } from '../../net/ip.ts'
import {
  checkDns1123Label,
  checkDns1123Subdomain,
  checkPathSegmentName,
  checkPortName,
  checkWildcardDns1123Subdomain,
} from '../../names.ts'
import { validateDnsSubdomain, validateRequiredName } from '../validation/field-checks.ts'
import { validatePortNumber } from '../validation/ports.ts'

/** Errors that an update may keep because the old object already had them (ratcheting validation). */
export interface IngressValidationOptions {
  readonly secretNames: boolean
  /** Errors in the paths of rules with a wildcard host. */
  readonly wildcardRules: boolean
}

export const strictOptions: IngressValidationOptions = { secretNames: false, wildcardRules: false }

export function validationOptionsOf({ tls = [], rules = [] }: IngressSpec): IngressValidationOptions {
  return {
    secretNames: tls.some(({ secretName }) => secretName && checkDns1123Subdomain(secretName).length > 0),
    wildcardRules: rules.some(rule => rule.host?.includes('*') && validatePaths('', rule).length > 0),
  }
}

export function validateIngressSpec(spec: IngressSpec, options: IngressValidationOptions): FieldError[] {
  const { rules = [], tls = [], defaultBackend, ingressClassName } = spec
  const errors: FieldError[] = []
  if (rules.length === 0 && defaultBackend === undefined) {
    const detail = 'either `defaultBackend` or `rules` must be specified'
    errors.push(invalid('spec', spec.rules ?? null, detail))
  }
  if (defaultBackend !== undefined) errors.push(...validateBackend('spec.defaultBackend', defaultBackend))
  return [
    ...errors,
    ...rules.flatMap((rule, index) => validateRule(`spec.rules[${index}]`, rule, options)),
    ...tls.flatMap((each, index) => validateTls(`spec.tls[${index}]`, each, options)),
    ...(ingressClassName === undefined
      ? []
      : validateDnsSubdomain('spec.ingressClassName', ingressClassName)),
  ]
}

function validateRule(field: string, rule: IngressRule, options: IngressValidationOptions): FieldError[] {
  const { host = '' } = rule
  const errors: FieldError[] = []
  if (host !== '' && parseIpLeniently(host) !== undefined) {
    errors.push(invalid(`${field}.host`, host, 'must be a DNS name, not an IP address'))
  }
  if (host !== '') errors.push(...validateHost(`${field}.host`, host))
  if (host.includes('*') && options.wildcardRules) return errors
  return [...errors, ...validatePaths(field, rule)]
}

function validateHost(field: string, host: string): FieldError[] {
  const check = host.includes('*') ? checkWildcardDns1123Subdomain : checkDns1123Subdomain
  return invalidEach(field, host, check(host))
}

function validatePaths(field: string, { http }: IngressRule): FieldError[] {
  if (http === undefined) return []
  const paths = http.paths ?? []
  if (paths.length === 0) return [required(`${field}.http.paths`, '')]
  return paths.flatMap((path, index) => validatePath(`${field}.http.paths[${index}]`, path))
}

const pathTypes = enumValues('networking.PathType')
/** Sequences that would allow several spellings of a path. */
const badSequences = ['//', '/./', '/../', '%2f', '%2F']
const badEndings = ['/..', '/.']

function validatePath(field: string, rule: HTTPIngressPath): FieldError[] {
  const { path = '', pathType, backend } = rule
  if (pathType === undefined) return [required(`${field}.pathType`, 'pathType must be specified')]
  const errors: FieldError[] = []
  const complain = (detail: string) => errors.push(invalid(`${field}.path`, path, detail))
  if (pathType === 'Exact' || pathType === 'Prefix') {
    if (!path.startsWith('/')) complain('must be an absolute path')
    for (const sequence of badSequences)
      if (path.includes(sequence)) complain(`must not contain '${sequence}'`)
    for (const ending of badEndings) if (path.endsWith(ending)) complain(`cannot end with '${ending}'`)
  } else if (pathType === 'ImplementationSpecific') {
    if (path !== '' && !path.startsWith('/')) complain('must be an absolute path')
  } else {
    errors.push(notSupported(`${field}.pathType`, pathType, pathTypes))
  }
  return [...errors, ...validateBackend(`${field}.backend`, backend ?? {})]
}

function validateBackend(field: string, { resource, service }: IngressBackend): FieldError[] {
  if (resource && service) return [invalid(field, '', 'cannot set both resource and service backends')]
  if (service) return validateServiceBackend(field, service)
  if (!resource) return [invalid(field, '', 'resource or service backend is required')]
  const { apiGroup, kind, name } = resource
  return [
    ...(apiGroup === undefined ? [] : validateDnsSubdomain(`${field}.resource.apiGroup`, apiGroup)),
    ...validateRequiredName(`${field}.resource.kind`, kind, checkPathSegmentName),
    ...validateRequiredName(`${field}.resource.name`, name, checkPathSegmentName),
  ]
}

function validateServiceBackend(field: string, { name, port = {} }: IngressServiceBackend): FieldError[] {
  const errors = validateRequiredName(`${field}.service.name`, name, checkDns1123Label)
  if (port.name && port.number) {
    return [...errors, invalid(field, '', 'cannot set both port name & port number')]
  }
  if (port.name) {
    return [...errors, ...invalidEach(`${field}.service.port.name`, port.name, checkPortName(port.name))]
  }
  if (port.number) return [...errors, ...validatePortNumber(`${field}.service.port.number`, port.number)]
  return [...errors, required(field, 'port name or number is required')]
}

function validateTls(
  field: string,
  { hosts = [], secretName }: IngressTLS,
  options: IngressValidationOptions,
): FieldError[] {
  const errors = hosts.flatMap((host, index) => validateHost(`${field}.hosts[${index}]`, host))
  if (!secretName || options.secretNames) return errors
  return [...errors, ...validateDnsSubdomain(`${field}.secretName`, secretName)]
}
