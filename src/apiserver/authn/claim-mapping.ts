/** From the claims of a token to a user, as the configuration of its issuer says. */
import type { Claims } from '#/base/json-web-token.ts'
import type { UserInfo } from '../request.ts'
import type { Refused } from './authenticator.ts'
import { credentialId } from './extra-keys.ts'

export interface ClaimMapping {
  readonly username: PrefixedClaim
  readonly groups?: PrefixedClaim
  readonly uid?: { readonly claim: string }
  /** By claim, the value that it must have. */
  readonly required: ReadonlyMap<string, string>
}

export interface PrefixedClaim {
  readonly claim: string
  /** Keeps names from one issuer apart from those of others, and from the cluster's own. */
  readonly prefix: string
}

export function mapClaims(claims: Claims, mapping: ClaimMapping): { readonly user: UserInfo } | Refused {
  const { username, groups, uid } = mapping
  const name = textClaim(claims, username.claim)
  if (name === undefined || name === '') {
    return { refused: `oidc: the token has no claim ${username.claim} to name a user by` }
  }
  if (
    username.claim === 'email' &&
    Object.hasOwn(claims, 'email_verified') &&
    claims['email_verified'] !== true
  ) {
    return { refused: 'oidc: email not verified' }
  }
  const memberships = groups === undefined ? [] : groupsIn(claims, groups)
  if (!Array.isArray(memberships)) return memberships
  const id = uid && textClaim(claims, uid.claim)
  if (uid !== undefined && id === undefined) return { refused: `oidc: the claim ${uid.claim} is not a text` }
  for (const [claim, value] of mapping.required) {
    if (textClaim(claims, claim) !== value) {
      return { refused: `oidc: the required claim ${claim} is not there or has another value` }
    }
  }
  const tokenId = textClaim(claims, 'jti')
  const user: UserInfo = {
    username: `${username.prefix}${name}`,
    ...(id && { uid: id }),
    groups: memberships,
    ...(tokenId && { extra: { [credentialId]: [`JTI=${tokenId}`] } }),
  }
  return { user }
}

function groupsIn(claims: Claims, { claim, prefix }: PrefixedClaim): string[] | Refused {
  if (!Object.hasOwn(claims, claim)) {
    const isElsewhere = namesOf(claims['_claim_names']).includes(claim)
    // Whoever's groups are not known may be in one that keeps him from something.
    return isElsewhere
      ? { refused: `oidc: the claim ${claim} is kept elsewhere, which is not supported` }
      : []
  }
  const value = claims[claim]
  const list: unknown[] = Array.isArray(value) ? value : [value]
  if (!list.every(each => typeof each === 'string')) {
    return { refused: `oidc: the claim ${claim} is no list of texts` }
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
