/**
 * The file that says whose tokens are taken and who may come without any: `AuthenticationConfiguration`.
 * Expressions are not evaluated, and a file that has some is refused: to ignore one would let in people whom
 * it keeps out.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
 * /
 */
import { DecodeError } from '#/api/decode-error.ts'
import { badRequest } from '#/api/errors.ts'
import {
  duplicate,
  formatFieldErrors,
  invalid,
  required,
  tooMany,
  type FieldError,
} from '#/api/field-error.ts'
import { readTypeMeta } from '#/api/type-meta.ts'
import { strictDecode } from '#/api/strict-decode.ts'
import { parseYaml } from '#/api/yaml.ts'
import type { TokenAlgorithm } from '#/base/json-web-token.ts'
import type { AnonymousOptions } from './anonymous.ts'
import {
  authenticationSchema,
  type AnonymousFields,
  type AuthenticationFile,
  type ClaimFields,
  type JwtFields,
} from './authentication-schema.ts'
import { readCertificates } from './certificate-chain.ts'
import type { PrefixedClaim } from './claim-mapping.ts'
import type { IssuerConfiguration } from './issuer-tokens.ts'

export interface AuthenticationConfiguration {
  readonly issuers: readonly IssuerConfiguration[]
  /** Absent when the file does not say. */
  readonly anonymous?: AnonymousOptions
}

const group = 'apiserver.config.k8s.io'
const versions = ['v1', 'v1beta1', 'v1alpha1']

/** With the file an issuer may sign as any of these; with flags it is said which. */
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
 * Throws ApiError when the file is no such configuration. `ownIssuers` are those of service accounts, whose
 * tokens nobody else may give out.
 */
export function readAuthenticationConfiguration(
  text: string,
  ownIssuers: readonly string[] = [],
): AuthenticationConfiguration {
  const apiVersion = readApiVersion(text)
  const version = versions.find(each => apiVersion === `${group}/${each}`)
  if (version === undefined) {
    throw badRequest(`the apiVersion must be one of ${versions.map(each => `${group}/${each}`).join(', ')}`)
  }
  const expected = { group, version, kind: 'AuthenticationConfiguration' }
  const { value } = strictDecode(Buffer.from(text), 'application/yaml', authenticationSchema, {
    expected,
    fieldValidation: 'Strict',
  })
  const { jwt: given, anonymous } = value as unknown as AuthenticationFile
  const jwt = (given ?? []).map(withStructs)
  const errors = [...validate(jwt, ownIssuers), ...validateAnonymous(anonymous)]
  if (errors.length > 0) throw badRequest(formatFieldErrors(errors))
  return {
    issuers: jwt.map(toIssuer),
    ...(anonymous && { anonymous: toAnonymous(anonymous) }),
  }
}

function toAnonymous({ enabled = false, conditions = [] }: AnonymousFields): AnonymousOptions {
  return { enabled, paths: conditions.map(({ path = '' }) => path) }
}

function readApiVersion(text: string): string {
  try {
    return readTypeMeta(parseYaml(text)).apiVersion
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw badRequest(`the file cannot be read: ${error.message}`)
  }
}

/** What a file leaves out is empty, and then validation says that it is missing. */
function withStructs(given: Partial<JwtFields>): JwtFields {
  const { issuer, claimMappings, ...rest } = { ...given }
  return { ...rest, issuer: issuer ?? {}, claimMappings: claimMappings ?? {} }
}

function toIssuer({ issuer, claimMappings, claimValidationRules = [] }: JwtFields): IssuerConfiguration {
  const { url = '', discoveryURL: discoveryUrl, certificateAuthority, audiences = [] } = issuer
  const { username = {}, groups, uid } = claimMappings
  const prefixed = ({ claim = '', prefix = '' }: ClaimFields): PrefixedClaim => ({ claim, prefix })
  return {
    url,
    ...(discoveryUrl && { discoveryUrl }),
    ...(certificateAuthority && { certificateAuthority }),
    audiences,
    algorithms: allAlgorithms,
    mapping: {
      username: prefixed(username),
      ...(groups?.claim && { groups: prefixed(groups) }),
      ...(uid?.claim && { uid: { claim: uid.claim } }),
      required: new Map(claimValidationRules.map(rule => [rule.claim ?? '', rule.requiredValue ?? ''])),
    },
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

const noExpressions = 'expressions are not supported yet'

function validateClaims(
  { claimMappings, claimValidationRules = [], userValidationRules = [] }: JwtFields,
  field: string,
): FieldError[] {
  const { username = {}, groups, uid, extra = [] } = claimMappings
  const errors = [
    ...validateClaim(username, `${field}.claimMappings.username`, 'needed'),
    ...(groups ? validateClaim(groups, `${field}.claimMappings.groups`, 'optional') : []),
  ]
  if (uid?.expression) {
    errors.push(invalid(`${field}.claimMappings.uid.expression`, uid.expression, noExpressions))
  }
  for (const [index, { valueExpression = '' }] of extra.entries()) {
    const at = `${field}.claimMappings.extra[${index}].valueExpression`
    errors.push(invalid(at, valueExpression, noExpressions))
  }
  const claims = claimValidationRules.map(({ claim = '' }) => claim)
  for (const [index, { claim = '', expression = '', message = '' }] of claimValidationRules.entries()) {
    const at = `${field}.claimValidationRules[${index}]`
    if (expression !== '') errors.push(invalid(`${at}.expression`, expression, noExpressions))
    else if (claim === '') errors.push(required(at, 'claim or expression is required'))
    else if (message !== '') {
      errors.push(invalid(`${at}.message`, message, 'may not be specified when claim is set'))
    }
    if (claim !== '' && claims.indexOf(claim) < index) errors.push(duplicate(`${at}.claim`, claim))
  }
  for (const [index, { expression = '' }] of userValidationRules.entries()) {
    errors.push(invalid(`${field}.userValidationRules[${index}].expression`, expression, noExpressions))
  }
  return errors
}

function validateClaim(
  { claim = '', prefix, expression = '' }: ClaimFields,
  field: string,
  need: 'needed' | 'optional',
): FieldError[] {
  if (claim !== '' && expression !== '') {
    return [invalid(field, '', "claim and expression can't both be set")]
  }
  if (expression !== '') return [invalid(`${field}.expression`, expression, noExpressions)]
  if (claim === '') return need === 'needed' ? [required(field, 'claim or expression is required')] : []
  if (prefix !== undefined) return []
  return [
    required(
      `${field}.prefix`,
      'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    ),
  ]
}

function areCertificates(pem: string): boolean {
  try {
    return readCertificates(pem).length > 0
  } catch {
    return false
  }
}
