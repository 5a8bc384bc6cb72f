/**
 * The `AuthenticationConfiguration` file: JWT issuers and anonymous access.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 */
import { ApiError, badRequest } from '#/api/errors.ts'
import {
  duplicate,
  formatFieldErrors,
  invalid,
  required,
  tooMany,
  type FieldError,
} from '#/api/field-error.ts'
import type { TokenAlgorithm } from '#/base/json-web-token.ts'
import type { AnonymousOptions } from './anonymous.ts'
import { readConfigurationFile } from '../configuration-file.ts'
import {
  authenticationKind,
  type AnonymousFields,
  type AuthenticationFile,
  type JwtFields,
} from './authentication-schema.ts'
import { readCertificates } from './certificate-chain.ts'
import { toMapping, validateClaims } from './configured-claims.ts'
import type { OidcConfiguration } from './oidc-authenticator.ts'

export interface AuthenticationConfiguration {
  readonly issuers: readonly OidcConfiguration[]
  /** Absent if the file does not set it. */
  readonly anonymous?: AnonymousOptions
}

/** Signing algorithms accepted for issuers from the file; with flags they are configured explicitly. */
const allAlgorithms: readonly TokenAlgorithm[] = [
  'RS256',
  'RS384',
  'RS512',
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
]

/**
 * Throws ApiError if the configuration is invalid. `ownIssuers` are the service account issuers, which a JWT
 * issuer must not reuse.
 */
export function readAuthenticationConfiguration(
  text: string,
  ownIssuers: readonly string[] = [],
): AuthenticationConfiguration {
  const { jwt: given, anonymous } = read(text)
  const jwt = (given ?? []).map(withStructs)
  const errors = [...validate(jwt, ownIssuers), ...validateAnonymous(anonymous)]
  if (errors.length > 0) throw badRequest(formatFieldErrors(errors))
  return {
    issuers: jwt.map(toIssuer),
    ...(anonymous && { anonymous: toAnonymous(anonymous) }),
  }
}

function read(text: string): AuthenticationFile {
  try {
    return readConfigurationFile(text, authenticationKind)
  } catch (error) {
    if (error instanceof ApiError || !(error instanceof Error)) throw error
    throw badRequest(`cannot decode file: ${error.message}`)
  }
}

function toAnonymous({ enabled = false, conditions = [] }: AnonymousFields): AnonymousOptions {
  return { enabled, paths: conditions.map(({ path = '' }) => path) }
}

/** Adds missing structs as empty, so that validation reports their required fields. */
function withStructs(given: Partial<JwtFields>): JwtFields {
  const { issuer, claimMappings, ...rest } = { ...given }
  return { ...rest, issuer: issuer ?? {}, claimMappings: claimMappings ?? {} }
}

function toIssuer(fields: JwtFields): OidcConfiguration {
  const { url = '', discoveryURL: discoveryUrl, certificateAuthority, audiences = [] } = fields.issuer
  return {
    url,
    ...(discoveryUrl && { discoveryUrl }),
    ...(certificateAuthority && { certificateAuthority }),
    audiences,
    algorithms: allAlgorithms,
    mapping: toMapping(fields),
  }
}

const issuersMax = 64

function validate(jwt: readonly JwtFields[], ownIssuers: readonly string[]): FieldError[] {
  if (jwt.length > issuersMax) return [tooMany('jwt', jwt.length, issuersMax)]
  const urls = jwt.map(({ issuer }) => issuer.url ?? '')
  const discoveryUrls = jwt.map(({ issuer }) => issuer.discoveryURL ?? '')
  return jwt.flatMap((each, index) => [
    ...validateIssuer(each, `jwt[${index}].issuer`, ownIssuers),
    ...validateClaims(each, `jwt[${index}]`),
    ...(urls.indexOf(urls[index]!) < index ? [duplicate(`jwt[${index}].issuer.url`, urls[index])] : []),
    ...(discoveryUrls[index] !== '' && discoveryUrls.indexOf(discoveryUrls[index]!) < index
      ? [duplicate(`jwt[${index}].issuer.discoveryURL`, discoveryUrls[index])]
      : []),
  ])
}

function validateAnonymous({ enabled = false, conditions = [] }: AnonymousFields = {}): FieldError[] {
  if (enabled || conditions.length === 0) return []
  const detail = 'enabled should be set to true when conditions are defined'
  return [invalid('anonymous.conditions', conditions, detail)]
}

function validateIssuer({ issuer }: JwtFields, field: string, ownIssuers: readonly string[]): FieldError[] {
  const {
    url = '',
    discoveryURL = '',
    audiences = [],
    audienceMatchPolicy = '',
    certificateAuthority = '',
    egressSelectorType,
  } = issuer
  const errors: FieldError[] = []
  if (url === '') errors.push(required(`${field}.url`, ''))
  else errors.push(...validateUrl(url, `${field}.url`))
  if (ownIssuers.includes(url)) {
    const detail = `URL must not overlap with disallowed issuers: [${ownIssuers.join(' ')}]`
    errors.push(invalid(`${field}.url`, url, detail))
  }
  if (discoveryURL !== '') {
    const isSame = url !== '' && url.replace(/\/+$/, '') === discoveryURL.replace(/\/+$/, '')
    if (isSame) {
      errors.push(invalid(`${field}.discoveryURL`, discoveryURL, 'discoveryURL must be different from URL'))
    }
    errors.push(...validateUrl(discoveryURL, `${field}.discoveryURL`))
  }
  if (audiences.length === 0) {
    errors.push(required(`${field}.audiences`, `at least one ${field}.audiences is required`))
  }
  for (const [index, audience] of audiences.entries()) {
    if (audience === '') errors.push(required(`${field}.audiences[${index}]`, ''))
    if (audiences.indexOf(audience) < index) errors.push(duplicate(`${field}.audiences[${index}]`, audience))
  }
  if (audienceMatchPolicy !== 'MatchAny' && (audiences.length > 1 || audienceMatchPolicy !== '')) {
    const detail =
      audiences.length > 1
        ? 'must be MatchAny for multiple audiences'
        : 'must be empty or MatchAny for single audience'
    errors.push(invalid(`${field}.audienceMatchPolicy`, audienceMatchPolicy, `audienceMatchPolicy ${detail}`))
  }
  if (certificateAuthority !== '' && !areCertificates(certificateAuthority)) {
    const detail = 'data does not contain any valid RSA or ECDSA certificates'
    errors.push(invalid(`${field}.certificateAuthority`, '<omitted>', detail))
  }
  if (egressSelectorType) {
    const detail = 'egress selectors are not supported'
    errors.push(invalid(`${field}.egressSelectorType`, egressSelectorType, detail))
  }
  return errors
}

function validateUrl(text: string, field: string): FieldError[] {
  if (!URL.canParse(text)) return [invalid(field, text, 'URL cannot be parsed')]
  const { protocol, username, password, search, hash } = new URL(text)
  const details = [
    ...(protocol === 'https:' ? [] : ['URL scheme must be https']),
    ...(username === '' && password === '' ? [] : ['URL must not contain a username or password']),
    ...(search === '' ? [] : ['URL must not contain a query']),
    ...(hash === '' ? [] : ['URL must not contain a fragment']),
  ]
  return details.map(detail => invalid(field, text, detail))
}

function areCertificates(pem: string): boolean {
  try {
    return readCertificates(pem).length > 0
  } catch {
    return false
  }
}
