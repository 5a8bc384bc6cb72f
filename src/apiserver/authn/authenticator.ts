/**
 * The authenticator interfaces. Each authenticator handles one type of credentials and ignores all others.
 */
import type { ApiRequest, UserInfo } from '../request.ts'
import type { BearerToken } from './bearer-token.ts'

export interface RequestAuthenticator {
  authenticate(request: ApiRequest): MaybeLater<Outcome>
}

export interface TokenAuthenticator {
  /** `audiences` are the acceptable audiences, any of which suffices; never empty. */
  authenticate(token: BearerToken, audiences: readonly string[]): MaybeLater<Outcome>
}

/** Most credentials are checked synchronously, which avoids a promise per request. */
export type MaybeLater<T> = T | Promise<T>

/** Undefined if the request has no credentials of this authenticator's type. */
export type Outcome = Authenticated | Refused | undefined

export interface Authenticated {
  readonly user: UserInfo
  /** The requested audiences that the credentials are valid for; all of them when absent. */
  readonly audiences?: readonly string[]
  readonly warnings?: readonly string[]
  /** Audit annotations. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** Invalid credentials. The reason is logged and never contains a secret. */
export interface Refused {
  readonly refused: string
}

export function isAuthenticated(outcome: Outcome): outcome is Authenticated {
  return outcome !== undefined && 'user' in outcome
}

/**
 * Returns the first success; otherwise the first refusal, because a request with invalid credentials is not
 * anonymous; undefined if no authenticator found credentials.
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

/** Adds the group system:authenticated, unless the user is already in it or in system:unauthenticated. */
export function withEverybody(outcome: Authenticated): Authenticated {
  const { user } = outcome
  if (user.groups.includes(everybody) || user.groups.includes(nobody)) return outcome
  return { ...outcome, user: { ...user, groups: [...user.groups, everybody] } }
}

/** The requested audiences that the token is intended for. */
export function commonAudiences(asked: readonly string[], meant: readonly string[]): readonly string[] {
  return asked.filter(audience => meant.includes(audience))
}

/** Wraps an authenticator of tokens without audiences: they are valid for this server's audiences. */
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
