/** OpenID Connect tokens. The issuer is contacted only for its keys, never about a token. */
import { decodeToken, verifyToken, type DecodedToken, type TokenAlgorithm } from '#/base/json-web-token.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock, Log } from '#/platform/platform.ts'
import {
  withEverybody,
  type MaybeLater,
  type Outcome,
  type Refused,
  type TokenAuthenticator,
} from './authenticator.ts'
import type { BearerToken } from './bearer-token.ts'
import { mapClaims, type ClaimMapping } from './claim-mapping.ts'
import { IssuerKeys } from './issuer-keys.ts'
import { OutcomeCache, type TimedOutcome } from './outcome-cache.ts'
import { readAudiences } from './service-account-claims.ts'

export interface IssuerConfiguration {
  readonly url: string
  readonly discoveryUrl?: string
  /** PEM; defaults to the system's CAs. */
  readonly certificateAuthority?: string
  /** The token must have at least one of these audiences. */
  readonly audiences: readonly string[]
  readonly algorithms: readonly TokenAlgorithm[]
  readonly mapping: ClaimMapping
}

export interface IssuerTokensOptions {
  readonly clock: Clock
  readonly log: Log
  readonly connectHttp: HttpConnect
  readonly configuration: IssuerConfiguration
}

/** Bounds of the cache of authenticated tokens: size and TTL. */
const rememberedMax = 10_000
const rememberMs = 10_000

/** Tolerates an issuer clock that is ahead. */
const notBeforeLeewayMs = 5 * 60_000

export class IssuerTokens implements TokenAuthenticator {
  readonly #options: IssuerTokensOptions
  readonly #keys: IssuerKeys
  readonly #known: OutcomeCache

  constructor(options: IssuerTokensOptions) {
    const { clock, connectHttp, configuration } = options
    this.#options = options
    this.#keys = new IssuerKeys({ clock, connectHttp, ...configuration })
    this.#known = new OutcomeCache({ clock, sizeMax: rememberedMax })
  }

  authenticate(token: BearerToken): MaybeLater<Outcome> {
    const known = this.#known.peek(token.digest)
    if (known !== undefined) return known.outcome
    const decoded = decodeToken(token.text)
    if (decoded === undefined || decoded.claims['iss'] !== this.#options.configuration.url) return undefined
    return this.#known.get(token.digest, () => this.#ask(decoded))
  }

  async #ask(token: DecodedToken): Promise<TimedOutcome> {
    const { clock, log, configuration } = this.#options
    const refused = this.#whyNot(token)
    if (refused !== undefined) return { outcome: refused, keepMs: 0 }
    try {
      if (!(await this.#isSigned(token))) {
        return { outcome: { refused: 'oidc: no key of the issuer has signed the token' }, keepMs: 0 }
      }
    } catch (error) {
      log.warn('cannot get the keys of an issuer of tokens', { issuer: configuration.url, error })
      return { outcome: { refused: 'oidc: the issuer cannot be asked for its keys' }, keepMs: 0 }
    }
    const mapped = mapClaims(token.claims, configuration.mapping)
    if (!('user' in mapped)) return { outcome: mapped, keepMs: 0 }
    const leftMs = Number(token.claims['exp']) * 1_000 - clock.now()
    return { outcome: withEverybody(mapped), keepMs: Math.min(rememberMs, leftMs) }
  }

  async #isSigned(token: DecodedToken): Promise<boolean> {
    const isSignedByKnown = (): boolean => {
      return this.#keys.known(token.keyId).some(({ key }) => verifyToken(token, key))
    }
    if (isSignedByKnown()) return true
    await this.#keys.refresh()
    return isSignedByKnown()
  }

  #whyNot({ algorithm, claims }: DecodedToken): Refused | undefined {
    const { audiences, algorithms } = this.#options.configuration
    const { exp, nbf = 0 } = claims
    const nowMs = this.#options.clock.now()
    if (!algorithms.includes(algorithm)) {
      return { refused: 'oidc: the token is signed with an algorithm that is not allowed' }
    }
    const meant = readAudiences(claims['aud']) ?? []
    if (!meant.some(audience => audiences.includes(audience))) {
      return { refused: 'oidc: the token is for another audience' }
    }
    if (typeof exp !== 'number' || exp * 1_000 <= nowMs) return { refused: 'oidc: token is expired' }
    if (typeof nbf !== 'number' || nbf * 1_000 > nowMs + notBeforeLeewayMs) {
      return { refused: 'oidc: token is not valid yet' }
    }
    return undefined
  }
}
