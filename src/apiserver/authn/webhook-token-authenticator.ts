/**
 * Webhook token authentication: posts a TokenReview to an external server. Outcomes are cached; failed calls
 * are retried, and the token is rejected if all attempts fail.
 */
import type { TokenReview, TokenReviewStatus } from '#/api/generated/authentication/v1.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { HttpClientError, type HttpClientTls, type HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { UserInfo } from '../request.ts'
import {
  commonAudiences,
  withAuthenticatedGroup,
  type Awaitable,
  type AuthenticationResult,
  type TokenAuthenticator,
} from './authenticator.ts'
import type { BearerToken } from './bearer-token.ts'
import type { AccessMetrics } from '../metrics/access.ts'
import { AuthenticationCache, type TimedResult } from './authentication-cache.ts'
import { requestJson, HttpStatusError } from './request-json.ts'

export interface TokenWebhookSettings {
  readonly url: string
  readonly tls?: HttpClientTls
  /** Credentials of this server. */
  readonly headers?: Readonly<Record<string, string>>
  /** API version of TokenReview; v1 when absent. */
  readonly version?: 'v1' | 'v1beta1'
  readonly cacheMs?: number
}

export interface WebhookTokenAuthenticatorOptions extends TokenWebhookSettings {
  readonly metrics?: AccessMetrics | undefined
  readonly platform: Pick<Platform, 'clock' | 'random' | 'log'>
  readonly connectHttp: HttpConnect
  /** Audiences assumed if the response has none. */
  readonly audiences: readonly string[]
}

const cacheMsDefault = 120_000

/** Maximum number of cached results; the least recently used one is evicted. */
const answersMax = 10_000

/** Retry limits for one token: attempts, deadline and initial delay. */
const triesMax = 5
const deadlineMs = 30_000
const firstDelayMs = 500

export class WebhookTokenAuthenticator implements TokenAuthenticator {
  readonly #options: WebhookTokenAuthenticatorOptions
  readonly #known: AuthenticationCache

  constructor(options: WebhookTokenAuthenticatorOptions) {
    this.#options = options
    this.#known = new AuthenticationCache({
      clock: options.platform.clock,
      sizeMax: answersMax,
      metrics: options.metrics,
    })
  }

  authenticate(token: BearerToken, audiences: readonly string[]): Awaitable<AuthenticationResult> {
    const key = JSON.stringify([token.digest, ...audiences])
    return this.#known.get(key, () => this.#call(token, audiences))
  }

  async #call(token: BearerToken, asked: readonly string[]): Promise<TimedResult> {
    const { cacheMs = cacheMsDefault, platform, audiences, url } = this.#options
    try {
      return { result: read(await this.#review(token, asked), asked, audiences), keepMs: cacheMs }
    } catch (error) {
      platform.log.error('Failed to make webhook authenticator request', { url, error })
      return { result: { failure: 'token webhook unavailable' }, keepMs: 0 }
    }
  }

  async #review(token: BearerToken, audiences: readonly string[]): Promise<JsonValue> {
    const {
      platform: { clock, random },
      connectHttp,
      url,
      tls,
      headers,
      version = 'v1',
    } = this.#options
    const spec = { token: token.text, ...(audiences.length > 0 && { audiences }) }
    const review = {
      kind: 'TokenReview',
      apiVersion: `authentication.k8s.io/${version}`,
      metadata: {},
      spec,
      status: { user: {} },
    }
    const startedMs = clock.monotonicMs()
    for (let tries = 1; ; tries++) {
      const timeoutMs = deadlineMs - (clock.monotonicMs() - startedMs)
      try {
        return await requestJson({
          clock,
          connectHttp,
          url,
          body: review,
          timeoutMs,
          ...(tls && { tls }),
          ...(headers && { headers }),
        })
      } catch (error) {
        const jitter = 1 + 0.2 * random.fraction('token-webhook-backoff')
        const delayMs = firstDelayMs * 1.5 ** (tries - 1) * jitter
        const leftMs = deadlineMs - (clock.monotonicMs() - startedMs)
        if (tries === triesMax || leftMs <= delayMs || !isPassing(error)) throw error
        await clock.sleep(delayMs)
      }
    }
  }
}

/** True if a retry may succeed. */
function isPassing(error: unknown): boolean {
  if (error instanceof HttpStatusError) return error.status >= 500 || error.status === 429
  return error instanceof HttpClientError
}

/** `answer` is not validated yet. */
function read(
  answer: JsonValue,
  asked: readonly string[],
  serverAudiences: readonly string[],
): AuthenticationResult {
  const { status = {} } = objectOf(answer) as Partial<TokenReview>
  const { authenticated, audiences: named, error, user } = objectOf(status as JsonValue) as TokenReviewStatus
  const audiences = commonAudiences(asked, isTexts(named) && named.length > 0 ? named : serverAudiences)
  if (audiences.length === 0) return undefined
  if (authenticated !== true) {
    return typeof error === 'string' && error !== ''
      ? { failure: 'token webhook rejected the token' }
      : undefined
  }
  const { username, uid, groups, extra } = objectOf(user as JsonValue) as Partial<UserInfo>
  if (typeof username !== 'string' || username === '') {
    return { failure: 'token webhook returned no user name' }
  }
  const more = Object.entries(objectOf(extra as JsonValue)).filter(([, values]) => isTexts(values))
  return withAuthenticatedGroup({
    user: {
      username,
      ...(typeof uid === 'string' && uid !== '' && { uid }),
      groups: isTexts(groups) ? groups : [],
      ...(more.length > 0 && { extra: Object.fromEntries(more) }),
    },
    audiences,
  })
}

function objectOf(value: JsonValue | undefined): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
