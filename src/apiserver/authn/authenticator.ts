/** Ways to find out who somebody is. Each knows one kind of credentials and says nothing about any other. */
import type { ApiRequest, UserInfo } from '../request.ts'
import type { BearerToken } from './bearer-token.ts'

export interface RequestAuthenticator {
  authenticate(request: ApiRequest): MaybeLater<Outcome>
}

export interface TokenAuthenticator {
  /** The audiences are those that somebody who trusts the token would be one of; never empty. */
  authenticate(token: BearerToken, audiences: readonly string[]): MaybeLater<Outcome>
}

/** Most credentials are checked without waiting, and then nobody waits. */
export type MaybeLater<T> = T | Promise<T>

/** Undefined when there is nothing that the authenticator knows. */
export type Outcome = Authenticated | Refused | undefined

export interface Authenticated {
  readonly user: UserInfo
  /** For whom the credentials are, of those asked about; all of them when absent. */
  readonly audiences?: readonly string[]
  readonly warnings?: readonly string[]
  /** For the audit log. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** Credentials that are there and are not good. The reason is for the log and never holds a secret. */
export interface Refused {
  readonly refused: string
}

export function isAuthenticated(outcome: Outcome): outcome is Authenticated {
  return outcome !== undefined && 'user' in outcome
}

/**
 * The first success; without one the first refusal, since whoever shows bad credentials is not somebody
 * without any; undefined when nobody has found anything.
 */
export function firstSuccess<T>(
  authenticators: readonly T[],
  ask: (authenticator: T) => MaybeLater<Outcome>,
  from = 0,
  refusal?: Refused,
): MaybeLater<Outcome> {
  let refused = refusal
  for (let index = from; index < authenticators.length; index++) {
    const outcome = ask(authenticators[index]!)
    if (outcome instanceof Promise) {
      return outcome.then(settled => {
        if (isAuthenticated(settled)) return settled
        return firstSuccess(authenticators, ask, index + 1, refused ?? settled)
      })
    }
    if (isAuthenticated(outcome)) return outcome
    refused ??= outcome
  }
  return refused
}

export const everybody = 'system:authenticated'
export const nobody = 'system:unauthenticated'
export const anonymousName = 'system:anonymous'

/** Whoever is known by name is one of a group, unless it is said that he is not. */
export function withEverybody(outcome: Authenticated): Authenticated {
  const { user } = outcome
  if (user.groups.includes(everybody) || user.groups.includes(nobody)) return outcome
  return { ...outcome, user: { ...user, groups: [...user.groups, everybody] } }
}

/** Of the audiences asked about those that are meant. */
export function commonAudiences(asked: readonly string[], meant: readonly string[]): readonly string[] {
  return asked.filter(audience => meant.includes(audience))
}

/** For tokens that say nothing of audiences: they are meant for this server. */
export function forAudiences(
  serverAudiences: readonly string[],
  authenticator: TokenAuthenticator,
): TokenAuthenticator {
  return {
    authenticate: (token, asked) => {
      const audiences = commonAudiences(asked, serverAudiences)
      if (audiences.length === 0) return undefined
      const outcome = authenticator.authenticate(token, audiences)
      const withAudiences = (settled: Outcome): Outcome => {
        return isAuthenticated(settled) ? { ...settled, audiences } : settled
      }
      return outcome instanceof Promise ? outcome.then(withAudiences) : withAudiences(outcome)
    },
  }
}
