import type { ApiRequest, UserInfo } from '../request.ts'
import {
  anonymousName,
  unauthenticatedGroup,
  type Authenticated,
  type AuthenticationResult,
  type RequestAuthenticator,
} from './authenticator.ts'

export interface AnonymousOptions {
  readonly enabled: boolean
  /** Allowed paths, matched exactly; every path when absent or empty. */
  readonly paths?: readonly string[]
}

/** Authenticates requests without credentials as system:anonymous. */
export class Anonymous implements RequestAuthenticator {
  readonly #isEnabled: boolean
  readonly #paths: ReadonlySet<string>

  constructor({ enabled, paths = [] }: AnonymousOptions) {
    this.#isEnabled = enabled
    this.#paths = new Set(paths)
  }

  authenticate({ path, headers }: ApiRequest): AuthenticationResult {
    if (!this.#isEnabled || (this.#paths.size > 0 && !this.#paths.has(path))) return undefined
    return /^\s*bearer\s/i.test(headers['authorization'] ?? '') ? ignoredToken : anonymous
  }
}

const user: UserInfo = { username: anonymousName, groups: [unauthenticatedGroup] }

const anonymous: Authenticated = { user }

const ignoredToken: Authenticated = {
  user,
  warnings: [
    'the provided Authorization header contains extra space before the bearer token, and is ignored',
  ],
}
