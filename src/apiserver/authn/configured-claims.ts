/**
 * Validates and converts the claim mappings and validation rules of the `AuthenticationConfiguration` file.
 */
import { duplicate, invalid, required, type FieldError } from '#/api/field-error.ts'
import { validateDomainPrefixedPath } from '#/api/names.ts'
import { compileCondition, compileExpression, ExpressionError } from '../expressions.ts'
import type { ClaimFields, JwtFields } from './authentication-schema.ts'
import { claimsSubject, userSubject, type Rule } from './claim-expressions.ts'
import type { ClaimMapping, MappingExpression, PrefixedClaim } from './claim-mapping.ts'

/** `fields` must be valid. */
export function toMapping(fields: JwtFields): ClaimMapping {
  const { claimMappings, claimValidationRules = [], userValidationRules = [] } = fields
  const { username = {}, groups, uid, extra = [] } = claimMappings
  const rules = claimValidationRules.filter(({ expression }) => expression)
  return {
    username: toClaim(username),
    ...((groups?.claim || groups?.expression) && { groups: toClaim(groups) }),
    ...(uid?.claim && { uid: { claim: uid.claim } }),
    ...(uid?.expression && { uid: toExpression(uid.expression) }),
    ...(extra.length > 0 && {
      extra: new Map(extra.map(({ key = '', valueExpression = '' }) => [key, toExpression(valueExpression)])),
    }),
    required: new Map(
      claimValidationRules
        .filter(({ claim }) => claim)
        .map(({ claim = '', requiredValue = '' }) => [claim, requiredValue]),
    ),
    ...(rules.length > 0 && { claimRules: rules.map(rule => toRule(rule, 'claims')) }),
    ...(userValidationRules.length > 0 && {
      userRules: userValidationRules.map(rule => toRule(rule, 'user')),
    }),
  }
}

function toClaim({ claim = '', prefix = '', expression }: ClaimFields): PrefixedClaim | MappingExpression {
  return expression ? toExpression(expression) : { claim, prefix }
}

function toExpression(expression: string): MappingExpression {
  return { expression, evaluate: compileExpression(expression, claimsSubject) }
}

function toRule({ expression = '', message = '' }: RuleFields, about: 'claims' | 'user'): Rule {
  const holds = compileCondition(expression, about === 'user' ? userSubject : claimsSubject)
  return { expression, holds, message }
}

interface RuleFields {
  readonly expression?: string
  readonly message?: string
}

export function validateClaims(fields: JwtFields, field: string): FieldError[] {
  const { claimMappings, claimValidationRules = [], userValidationRules = [] } = fields
  const { username = {}, groups = {}, uid = {}, extra = [] } = claimMappings
  return [
    ...validateClaim(username, `${field}.claimMappings.username`, 'needed'),
    ...validateClaim(groups, `${field}.claimMappings.groups`, 'optional'),
    ...validateUid(uid, `${field}.claimMappings.uid`),
    ...validateExtra(extra, `${field}.claimMappings.extra`),
    ...validateEmail(fields, `${field}.claimMappings.username.expression`),
    ...validateClaimRules(claimValidationRules, `${field}.claimValidationRules`),
    ...validateUserRules(userValidationRules, `${field}.userValidationRules`),
  ]
}

function validateClaim(
  { claim = '', prefix, expression = '' }: ClaimFields,
  field: string,
  need: 'needed' | 'optional',
): FieldError[] {
  if (claim !== '' && expression !== '') {
    return [invalid(field, '', "claim and expression can't both be set")]
  }
  if (expression !== '') {
    const unwanted = 'may not be specified when expression is set'
    return [
      ...(prefix === undefined ? [] : [invalid(`${field}.prefix`, prefix, unwanted)]),
      ...check(`${field}.expression`, expression, () => compileExpression(expression, claimsSubject)),
    ]
  }
  if (claim === '') return need === 'needed' ? [required(field, 'claim or expression is required')] : []
  if (prefix !== undefined) return []
  return [
    required(
      `${field}.prefix`,
      'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    ),
  ]
}

function validateUid({ claim = '', expression = '' }: ClaimFields, field: string): FieldError[] {
  if (claim !== '' && expression !== '') {
    return [invalid(field, '', "claim and expression can't both be set")]
  }
  if (expression === '') return []
  return check(`${field}.expression`, expression, () => compileExpression(expression, claimsSubject))
}

type ExtraFields = NonNullable<JwtFields['claimMappings']['extra']>

function validateExtra(extra: ExtraFields, field: string): FieldError[] {
  const keys = extra.map(({ key = '' }) => key)
  const reserved = 'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use'
  return extra.flatMap(({ key = '', valueExpression = '' }, index) => {
    const at = `${field}[${index}]`
    const errors = [
      ...validateDomainPrefixedPath(`${at}.key`, key),
      ...(key === key.toLowerCase() ? [] : [invalid(`${at}.key`, key, 'must be lowercase')]),
      ...(reservedDomain.test(key) ? [invalid(`${at}.key`, key, reserved)] : []),
    ]
    if (keys.indexOf(key) < index) return [...errors, duplicate(`${at}.key`, key)]
    if (valueExpression === '') return [...errors, required(`${at}.valueExpression`, '')]
    const compile = (): unknown => compileExpression(valueExpression, claimsSubject)
    return [...errors, ...check(`${at}.valueExpression`, valueExpression, compile)]
  })
}

const reservedDomain = /^(?:[^/]*\.)?(?:k8s|kubernetes)\.io\//

/**
 * If the username uses claims.email, an expression must also use claims.email_verified, because an unverified
 * address may belong to another user.
 */
function validateEmail({ claimMappings, claimValidationRules = [] }: JwtFields, field: string): FieldError[] {
  const { username = {}, extra = [] } = claimMappings
  const { expression = '' } = username
  if (!speaksOf(expression, 'email')) return []
  const others = [
    ...extra.map(each => each.valueExpression),
    ...claimValidationRules.map(each => each.expression),
  ]
  if ([expression, ...others].some(each => speaksOf(each ?? '', 'email_verified'))) return []
  const detail =
    'claims.email_verified must be used in claimMappings.username.expression or' +
    ' claimMappings.extra[*].valueExpression or claimValidationRules[*].expression' +
    ' when claims.email is used in claimMappings.username.expression'
  return [invalid(field, expression, detail)]
}

/** Ignores string literals in the expression. */
function speaksOf(expression: string, claim: string): boolean {
  const withoutTexts = expression.replaceAll(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/g, '""')
  return new RegExp(`\\bclaims\\s*\\.\\s*\\??\\s*${claim}\\b`).test(withoutTexts)
}

type ClaimRuleFields = NonNullable<JwtFields['claimValidationRules']>

function validateClaimRules(rules: ClaimRuleFields, field: string): FieldError[] {
  const claims = rules.map(({ claim = '' }) => claim)
  const expressions = rules.map(({ expression = '' }) => expression)
  return rules.flatMap(({ claim = '', requiredValue = '', expression = '', message = '' }, index) => {
    const at = `${field}[${index}]`
    if (claim !== '' && expression !== '') {
      return [invalid(at, claim, "claim and expression can't both be set")]
    }
    if (claim === '' && expression === '') return [required(at, 'claim or expression is required')]
    if (claim !== '') {
      const unwanted = invalid(`${at}.message`, message, 'may not be specified when claim is set')
      const isRepeated = claims.indexOf(claim) < index
      return [...(message === '' ? [] : [unwanted]), ...(isRepeated ? [duplicate(`${at}.claim`, claim)] : [])]
    }
    const unwanted = invalid(
      `${at}.requiredValue`,
      requiredValue,
      'may not be specified when expression is set',
    )
    const errors = requiredValue === '' ? [] : [unwanted]
    if (expressions.indexOf(expression) < index) return [...errors, duplicate(`${at}.expression`, expression)]
    const compile = (): unknown => compileCondition(expression, claimsSubject)
    return [...errors, ...check(`${at}.expression`, expression, compile)]
  })
}

function validateUserRules(rules: readonly RuleFields[], field: string): FieldError[] {
  const expressions = rules.map(({ expression = '' }) => expression)
  return expressions.flatMap((expression, index) => {
    const at = `${field}[${index}].expression`
    if (expression === '') return [required(at, '')]
    if (expressions.indexOf(expression) < index) return [duplicate(at, expression)]
    return check(at, expression, () => compileCondition(expression, userSubject))
  })
}

function check(field: string, expression: string, compile: () => unknown): FieldError[] {
  try {
    compile()
    return []
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    return [invalid(field, expression, error.message)]
  }
}
