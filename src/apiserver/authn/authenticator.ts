/**
 * The authenticator interfaces. Each authenticator handles one type of credentials and ignores all others.
 */
import type { ApiRequest, UserInfo } from '../request.ts'
import type { BearerToken } from './bearer-token.ts'

export interface RequestAuthenticator {
  authenticate(request: ApiRequest): Awaitable<AuthenticationResult>
}

export interface TokenAuthenticator {
  /** `audiences` are the acceptable audiences, any of which suffices; never empty. */
  authenticate(token: BearerToken, audiences: readonly string[]): Awaitable<AuthenticationResult>
}

/** Most credentials are checked synchronously, which avoids a promise per request. */
export type Awaitable<T> = T | Promise<T>

/** Undefined if the request has no credentials of this authenticator's type. */
export type AuthenticationResult = Authenticated | AuthenticationFailure | undefined

export interface Authenticated {
  readonly user: UserInfo
  /** The requested audiences that the credentials are valid for; all of them when absent. */
  readonly audiences?: readonly string[]
  readonly warnings?: readonly string[]
  /** Audit annotations. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** Invalid credentials. The reason is logged and never contains a secret. */
export interface AuthenticationFailure {
  readonly failure: string
}

export function isAuthenticated(result: AuthenticationResult): result is Authenticated {
  return result !== undefined && 'user' in result
}

/**
 * Returns the first success; otherwise the first refusal, because a request with invalid credentials is not
 * anonymous; undefined if no authenticator found credentials.
 */
export function firstSuccess<T>(
  authenticators: readonly T[],
  ask: (authenticator: T) => Awaitable<AuthenticationResult>,
): Awaitable<AuthenticationResult> {
  let failure: AuthenticationFailure | undefined
  for (let index = 0; index < authenticators.length; index++) {
    const result = ask(authenticators[index]!)
    if (result instanceof Promise) {
      return result.then(async settled => {
        if (isAuthenticated(settled)) return settled
        const later = await firstSuccess(authenticators.slice(index + 1), ask)
        return isAuthenticated(later) ? later : (failure ?? settled ?? later)
      })
    }
    if (isAuthenticated(result)) return result
    failure ??= result
  }
  return failure
}

export const authenticatedGroup = 'system:authenticated'
export const unauthenticatedGroup = 'system:unauthenticated'
export const anonymousName = 'system:anonymous'

/** Adds the group system:authenticated, unless the user is already in it or in system:unauthenticated. */
export function withAuthenticatedGroup(result: Authenticated): Authenticated {
  const { user } = result
  if (user.groups.includes(authenticatedGroup) || user.groups.includes(unauthenticatedGroup)) return result
  return { ...result, user: { ...user, groups: [...user.groups, authenticatedGroup] } }
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
      const result = authenticator.authenticate(token, audiences)
      const withAudiences = (settled: AuthenticationResult): AuthenticationResult => {
        return isAuthenticated(settled) ? { ...settled, audiences } : settled
      }
      return result instanceof Promise ? result.then(withAudiences) : withAudiences(result)
    },
  }
}
