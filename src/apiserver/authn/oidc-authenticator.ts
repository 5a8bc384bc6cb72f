/** OpenID Connect tokens. The issuer is contacted only for its keys, never about a token. */
import { decodeToken, verifyToken, type DecodedToken, type TokenAlgorithm } from '#/base/json-web-token.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock, Log } from '#/platform/platform.ts'
import {
  withAuthenticatedGroup,
  type Awaitable,
  type AuthenticationResult,
  type AuthenticationFailure,
  type TokenAuthenticator,
} from './authenticator.ts'
import type { BearerToken } from './bearer-token.ts'
import { mapClaims, type ClaimMapping } from './claim-mapping.ts'
import { OidcKeySet } from './oidc-key-set.ts'
import { AuthenticationCache, type TimedResult } from './authentication-cache.ts'
import { readAudiences } from './service-account-claims.ts'

export interface OidcConfiguration {
  readonly url: string
  readonly discoveryUrl?: string
  /** PEM; defaults to the system's CAs. */
  readonly certificateAuthority?: string
  /** The token must have at least one of these audiences. */
  readonly audiences: readonly string[]
  readonly algorithms: readonly TokenAlgorithm[]
  readonly mapping: ClaimMapping
}

export interface OidcAuthenticatorOptions {
  readonly clock: Clock
  readonly log: Log
  readonly connectHttp: HttpConnect
  readonly configuration: OidcConfiguration
}

/** Bounds of the cache of authenticated tokens: size and TTL. */
const rememberedMax = 10_000
const rememberMs = 10_000

/** Tolerates an issuer clock that is ahead. */
const notBeforeLeewayMs = 5 * 60_000

export class OidcAuthenticator implements TokenAuthenticator {
  readonly #options: OidcAuthenticatorOptions
  readonly #keys: OidcKeySet
  readonly #known: AuthenticationCache

  constructor(options: OidcAuthenticatorOptions) {
    const { clock, connectHttp, configuration } = options
    this.#options = options
    this.#keys = new OidcKeySet({ clock, connectHttp, ...configuration })
    this.#known = new AuthenticationCache({ clock, sizeMax: rememberedMax })
  }

  authenticate(token: BearerToken): Awaitable<AuthenticationResult> {
    const known = this.#known.peek(token.digest)
    if (known !== undefined) return known.result
    const decoded = decodeToken(token.text)
    if (decoded === undefined || decoded.claims['iss'] !== this.#options.configuration.url) return undefined
    return this.#known.get(token.digest, () => this.#ask(decoded))
  }

  async #ask(token: DecodedToken): Promise<TimedResult> {
    const { clock, log, configuration } = this.#options
    const failure = this.#whyNot(token)
    if (failure !== undefined) return { result: failure, keepMs: 0 }
    try {
      if (!(await this.#isSigned(token))) {
        return { result: { failure: 'oidc: failed to verify signature: no matching key' }, keepMs: 0 }
      }
    } catch (error) {
      log.warn('oidc: failed to fetch keys', { issuer: configuration.url, error })
      return { result: { failure: 'oidc: failed to fetch keys' }, keepMs: 0 }
    }
    const mapped = mapClaims(token.claims, configuration.mapping)
    if (!('user' in mapped)) return { result: mapped, keepMs: 0 }
    const leftMs = Number(token.claims['exp']) * 1_000 - clock.now()
    return { result: withAuthenticatedGroup(mapped), keepMs: Math.min(rememberMs, leftMs) }
  }

  async #isSigned(token: DecodedToken): Promise<boolean> {
    const isSignedByKnown = (): boolean => {
      return this.#keys.known(token.keyId).some(({ key }) => verifyToken(token, key))
    }
    if (isSignedByKnown()) return true
    await this.#keys.refresh()
    return isSignedByKnown()
  }

  #whyNot({ algorithm, claims }: DecodedToken): AuthenticationFailure | undefined {
    const { audiences, algorithms } = this.#options.configuration
    const { exp, nbf = 0 } = claims
    const nowMs = this.#options.clock.now()
    if (!algorithms.includes(algorithm)) {
      return { failure: 'oidc: signing algorithm is not allowed' }
    }
    const meant = readAudiences(claims['aud']) ?? []
    if (!meant.some(audience => audiences.includes(audience))) {
      return { failure: 'oidc: token audiences do not match' }
    }
    if (typeof exp !== 'number' || exp * 1_000 <= nowMs) return { failure: 'oidc: token is expired' }
    if (typeof nbf !== 'number' || nbf * 1_000 > nowMs + notBeforeLeewayMs) {
      return { failure: 'oidc: token is not valid yet' }
    }
    return undefined
  }
}
