/**
 * Authenticates the clients of a component by a client certificate signed by the cluster's CA, or by a bearer
 * token, which the API server verifies (TokenReview).
 */
import { createHash } from 'node:crypto'
import type { TokenReview } from '#/api/generated/authentication/v1.ts'
import { tokenReviews } from '#/api/generated/authentication/v1-resources.ts'
import type { UserInfo } from '#/api/transport.ts'
import type { Client } from '#/client/client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Clock } from '#/platform/platform.ts'
import { TimedCache } from './timed-cache.ts'

/**
 * Cache TTL of failed token reviews: guessing does not load the API server, and a new token is soon accepted.
 */
const unknownMs = 10_000

/** Maximum number of concurrent token reviews; further requests are not authenticated. */
const questionsMax = 100

/** Longer tokens are rejected. */
const tokenCharactersMax = 16_384

export interface DelegatedAuthenticationOptions {
  /** May create TokenReviews. Without it, requests with tokens are as those without credentials. */
  readonly client: Client | undefined
  readonly clock: Clock
  /** Cache TTL of successful token reviews. */
  readonly cacheTtlMs: number
  /** The user of requests without credentials; without it they are not authenticated. */
  readonly anonymous?: UserInfo
}

export class DelegatedAuthentication {
  readonly #options: DelegatedAuthenticationOptions
  readonly #tokens: TimedCache<UserInfo | undefined>

  constructor(options: DelegatedAuthenticationOptions) {
    this.#options = options
    this.#tokens = new TimedCache({ clock: options.clock, sizeMax: 4_096 })
  }

  /** Undefined if not authenticated. Rejects if the API server is unavailable. */
  async userOf({ connection, headers }: HttpExchange): Promise<UserInfo | undefined> {
    const { clock, cacheTtlMs, anonymous } = this.#options
    const { certificate } = connection
    if (certificate !== undefined && certificate.expiresMs > clock.now()) {
      const { commonName: username, organizations } = certificate
      return { username, groups: [...organizations, authenticated] }
    }
    const [, token = ''] = /^bearer +(\S+) *$/i.exec(headers['authorization'] ?? '') ?? []
    const { client } = this.#options
    if (token === '' || client === undefined) return anonymous
    if (token.length > tokenCharactersMax) return undefined
    const key = createHash('sha256').update(token).digest('base64')
    if (this.#tokens.askingCount >= questionsMax) return undefined
    const holdsMs = (user: UserInfo | undefined): number => (user ? cacheTtlMs : unknownMs)
    return this.#tokens.get(key, () => this.#review(client, token), holdsMs)
  }

  async #review(client: Client, token: string): Promise<UserInfo | undefined> {
    const review: TokenReview = { metadata: {}, spec: { token } }
    const { status = {} } = await client.create(tokenReviews, review)
    if (!status.authenticated || !status.user?.username) return undefined
    const { username, uid, groups = [], extra } = status.user
    return { username, groups, ...(uid && { uid }), ...(extra && { extra }) }
  }
}

const authenticated = 'system:authenticated'
