/** Maps the claims of a token to a user, as configured for its issuer. */
import type { Claims } from '#/base/json-web-token.ts'
import type { Value } from '#/cel/value.ts'
import type { Expression } from '../expressions.ts'
import type { UserInfo } from '../request.ts'
import type { AuthenticationFailure } from './authenticator.ts'
import { evaluateString, evaluateStrings, firstFailedRule, type Rule } from './claim-expressions.ts'
import { credentialId } from './extra-keys.ts'

export interface ClaimMapping {
  readonly username: PrefixedClaim | MappingExpression
  readonly groups?: PrefixedClaim | MappingExpression
  readonly uid?: { readonly claim: string } | MappingExpression
  /** By extra key. */
  readonly extra?: ReadonlyMap<string, MappingExpression>
  /** Required claim values, by claim name. */
  readonly required: ReadonlyMap<string, string>
  readonly claimRules?: readonly Rule[]
  readonly userRules?: readonly Rule[]
}

/** A CEL expression instead of a claim name. */
export interface MappingExpression {
  readonly expression: string
  readonly evaluate: Expression<Value>
}

export interface PrefixedClaim {
  readonly claim: string
  /** Keeps names of different issuers apart from each other and from built-in users. */
  readonly prefix: string
}

export function mapClaims(
  claims: Claims,
  mapping: ClaimMapping,
): { readonly user: UserInfo } | AuthenticationFailure {
  const { groups, uid } = mapping
  const username = nameIn(claims, mapping.username)
  if (typeof username !== 'string') return username
  const memberships = groups === undefined ? [] : groupsIn(claims, groups)
  if ('failure' in memberships) return memberships
  const id = uid && idIn(claims, uid)
  if (typeof id === 'object') return id
  const extra = extraIn(claims, mapping.extra ?? new Map())
  if (!(extra instanceof Map)) return extra
  for (const [claim, value] of mapping.required) {
    if (textClaim(claims, claim) !== value) {
      return { failure: `oidc: required claim ${claim} not present or value does not match` }
    }
  }
  const user: UserInfo = {
    username,
    ...(id && { uid: id }),
    groups: memberships,
    ...(extra.size > 0 && { extra: Object.fromEntries(extra) }),
  }
  const problem =
    firstFailedRule(mapping.claimRules ?? [], claims) ?? firstFailedRule(mapping.userRules ?? [], asked(user))
  return problem === undefined ? { user } : { failure: `oidc: ${problem}` }
}

/** `uid` is never undefined in CEL. */
function asked({ username, uid = '', groups, extra = {} }: UserInfo): object {
  return { username, uid, groups, extra }
}

function nameIn(claims: Claims, from: ClaimMapping['username']): string | AuthenticationFailure {
  if ('expression' in from) {
    const name = evaluateString(from.evaluate, claims)
    return name ? name : { failure: `oidc: username expression ${from.expression} returned no user name` }
  }
  const { claim, prefix } = from
  const name = textClaim(claims, claim)
  if (name === undefined || name === '') {
    return { failure: `oidc: claim ${claim} not present` }
  }
  const isUnverified = Object.hasOwn(claims, 'email_verified') && claims['email_verified'] !== true
  if (claim === 'email' && isUnverified) return { failure: 'oidc: email not verified' }
  return `${prefix}${name}`
}

function idIn(claims: Claims, from: NonNullable<ClaimMapping['uid']>): string | AuthenticationFailure {
  const isExpression = 'expression' in from
  const id = isExpression ? evaluateString(from.evaluate, claims) : textClaim(claims, from.claim)
  if (id !== undefined) return id
  return { failure: `oidc: ${isExpression ? from.expression : `claim ${from.claim}`} is not a string` }
}

function extraIn(
  claims: Claims,
  mappings: ReadonlyMap<string, MappingExpression>,
): Map<string, readonly string[]> | AuthenticationFailure {
  const extra = new Map<string, readonly string[]>()
  const tokenId = textClaim(claims, 'jti')
  if (tokenId) extra.set(credentialId, [`JTI=${tokenId}`])
  for (const [key, { expression, evaluate }] of mappings) {
    const values = evaluateStrings(evaluate, claims)
    if (values === undefined)
      return { failure: `oidc: ${expression} must return a string or a list of strings` }
    if (values.length > 0) extra.set(key, values)
  }
  return extra
}

function groupsIn(
  claims: Claims,
  from: NonNullable<ClaimMapping['groups']>,
): readonly string[] | AuthenticationFailure {
  if ('expression' in from) {
    const groups = evaluateStrings(from.evaluate, claims)
    return groups ?? { failure: `oidc: ${from.expression} must return a string or a list of strings` }
  }
  const { claim, prefix } = from
  if (!Object.hasOwn(claims, claim)) {
    const isElsewhere = namesOf(claims['_claim_names']).includes(claim)
    // Distributed claims: without knowing the groups, rules based on group membership could not be enforced,
    // so the token is rejected.
    return isElsewhere ? { failure: `oidc: distributed claim ${claim} is not supported` } : []
  }
  const value = claims[claim]
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (!list.every(each => typeof each === 'string')) {
    return { failure: `oidc: claim ${claim} must be a string or a list of strings` }
  }
  return list.map(group => `${prefix}${group}`)
}

function namesOf(value: unknown): string[] {
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}

function textClaim(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  return typeof value === 'string' ? value : undefined
}
