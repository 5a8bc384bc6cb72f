/**
 * Authenticates clients of the kubelet by a client certificate signed by the cluster's CA or by a bearer
 * token (TokenReview). There is no anonymous access.
 */
import { createHash } from 'node:crypto'
import type { TokenReview } from '#/api/generated/authentication/v1.ts'
import { tokenReviews } from '#/api/generated/authentication/v1-resources.ts'
import type { UserInfo } from '#/api/transport.ts'
import type { Client } from '#/client/client.ts'
import type { HttpExchange } from '#/platform/http.ts'
import type { Clock } from '#/platform/platform.ts'
import { TimedCache } from './timed-cache.ts'

/** Cache TTL of successful token reviews, as upstream. */
const knownMs = 120_000

/**
 * Cache TTL of failed token reviews: guessing does not load the API server, and a new token is soon accepted.
 */
const unknownMs = 10_000

/** Maximum number of concurrent token reviews; further requests are not authenticated. */
const questionsMax = 100

/** Longer tokens are rejected. */
const tokenCharactersMax = 16_384

export class Authentication {
  readonly #client: Client
  readonly #clock: Clock
  readonly #tokens: TimedCache<UserInfo | undefined>

  constructor({ client, clock }: { readonly client: Client; readonly clock: Clock }) {
    this.#client = client
    this.#clock = clock
    this.#tokens = new TimedCache({ clock, sizeMax: 4_096 })
  }

  /** Undefined if not authenticated. Rejects if the API server is unavailable. */
  async userOf({ connection, headers }: HttpExchange): Promise<UserInfo | undefined> {
    const { certificate } = connection
    if (certificate !== undefined && certificate.expiresMs > this.#clock.now()) {
      const { commonName: username, organizations } = certificate
      return { username, groups: [...organizations, authenticated] }
    }
    const [, token = ''] = /^bearer +(\S+) *$/i.exec(headers['authorization'] ?? '') ?? []
    if (token === '' || token.length > tokenCharactersMax) return undefined
    const key = createHash('sha256').update(token).digest('base64')
    if (this.#tokens.askingCount >= questionsMax) return undefined
    const holdsMs = (user: UserInfo | undefined): number => (user ? knownMs : unknownMs)
    return this.#tokens.get(key, () => this.#review(token), holdsMs)
  }

  async #review(token: string): Promise<UserInfo | undefined> {
    const review: TokenReview = { metadata: {}, spec: { token } }
    const { status = {} } = await this.#client.create(tokenReviews, review)
    if (!status.authenticated || !status.user?.username) return undefined
    const { username, uid, groups = [], extra } = status.user
    return { username, groups, ...(uid && { uid }), ...(extra && { extra }) }
  }
}

const authenticated = 'system:authenticated'
