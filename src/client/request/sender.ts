import type { Clock } from '#/platform/platform.ts'
import { ApiError } from '#/api/errors.ts'
import { encodePass, passHeader } from '#/api/origin.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { ClientOptions, RawRequest } from '../client.ts'
import type { RestClientHostMetrics } from '../rest-client-metrics.ts'
import {
  TransportError,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../transport.ts'
import { parseRetryAfter, responseError } from './response.ts'

/** Default timeout for the response headers: slightly above the server's own request timeout. */
const timeoutMsUsual = 70_000

/** Sends a request, with retries, and throws error responses. */
export class Sender {
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #headers: Readonly<Record<string, string>>
  readonly #onWarning: ((text: string) => void) | undefined
  readonly #metrics: RestClientHostMetrics | undefined
  readonly #timeoutMs: number

  constructor({ transport, platform, userAgent, onWarning, metrics, timeoutMs }: ClientOptions) {
    this.#transport = transport
    this.#clock = platform.clock
    this.#headers = { 'accept': 'application/json', 'user-agent': userAgent }
    this.#onWarning = onWarning
    this.#metrics = metrics
    this.#timeoutMs = timeoutMs ?? timeoutMsUsual
  }

  async send(request: RawRequest): Promise<TransportResponse> {
    return this.#metrics === undefined ? this.#send(request) : this.#measured(request, this.#metrics)
  }

  async #measured(request: RawRequest, metrics: RestClientHostMetrics): Promise<TransportResponse> {
    const { method, query } = request
    const startMs = this.#clock.monotonicMs()
    try {
      const response = await this.#send(request)
      metrics.requested(method, response.status)
      return response
    } catch (error) {
      metrics.requested(method, error instanceof ApiError ? error.code : '<error>')
      throw error
    } finally {
      if (!query?.has('watch')) metrics.took(method, this.#clock.monotonicMs() - startMs)
    }
  }

  async #send(request: RawRequest): Promise<TransportResponse> {
    for (let retries = 0; ; retries++) {
      const response = await this.#once(request)
      for (const text of parseWarnings(response.headers['warning'])) this.#onWarning?.(text)
      if (response.status < 400) return response
      const delayMs = planRetry({
        status: response.status,
        retryAfter: response.headers['retry-after'],
        retries,
      })
      if (delayMs === undefined) throw await responseError(response)
      response.discard()
      this.#metrics?.retried(request.method, response.status)
      await this.#clock.sleep(delayMs, request.signal)
    }
  }

  /** The timeout covers the response headers only: the time for the body depends on its size. */
  async #once(request: RawRequest): Promise<TransportResponse> {
    const { method, path, query, headers, body, pass, timeoutMs = this.#timeoutMs } = request
    const abort = new LinkedAbort(request.signal)
    const onTimeout = (): void =>
      abort.abort(new TransportError('timeout', `${method} ${path}: no response within ${timeoutMs} ms`))
    const timer = this.#clock.setTimer(timeoutMs, onTimeout)
    const sent: TransportRequest = {
      method,
      path,
      query: query ?? new URLSearchParams(),
      headers: {
        ...this.#headers,
        ...headers,
        ...(pass !== undefined && method !== 'GET' && { [passHeader]: encodePass(pass) }),
      },
      ...(body !== undefined && { body }),
      signal: abort.signal,
    }
    try {
      const response = await this.#transport.request(sent)
      return untilRead(response, abort)
    } catch (error) {
      abort[Symbol.dispose]()
      throw error
    } finally {
      timer.cancel()
    }
  }
}

/**
 * Keeps the request linked to the caller's signal until the body has been read, then removes the listener.
 */
function untilRead(response: TransportResponse, abort: LinkedAbort): TransportResponse {
  const release = (): void => abort[Symbol.dispose]()
  async function* released<T>(source: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    let isComplete = false
    try {
      yield* source
      isComplete = true
    } finally {
      if (!isComplete) abort.abort(new Error('response body was not consumed'))
      release()
    }
  }
  return {
    status: response.status,
    headers: response.headers,
    value: () => response.value().finally(release),
    events: () => released(response.events()),
    bytes: () => released(response.bytes()),
    discard: () => {
      release()
      response.discard()
    },
  }
}

/** Maximum number of retries of one request. */
const retriesMax = 10

/** A longer Retry-After is not awaited: the error is returned to the caller. */
const waitMsMax = 30_000

interface RetryableResponse {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Number of times the request has already been retried. */
  readonly retries: number
}

/**
 * Delay before the request is retried; undefined when the response is final. A server that is overloaded or
 * not ready and sends Retry-After has not processed the request, so every verb may be retried.
 */
function planRetry({ status, retryAfter, retries }: RetryableResponse): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  const seconds = parseRetryAfter(retryAfter)
  if (seconds === undefined || retries >= retriesMax) return undefined
  const waitMs = seconds * 1_000
  return waitMs > waitMsMax ? undefined : waitMs
}

/** Maximum number of warnings parsed of one response. */
const warningsMax = 100

/** A warning of RFC 7234: code, agent and quoted text. */
const warning = /\s*(\d{3}) (?:[^\s"]+|"(?:\\.|[^"\\])*") "((?:\\.|[^"\\])*)"(?: "[^"]*")?\s*(?:,|$)/y

/** The texts of a `Warning` header with code 299, which API servers use. Parsing stops at malformed input. */
function parseWarnings(header: string | undefined): readonly string[] {
  if (header === undefined) return []
  const texts: string[] = []
  warning.lastIndex = 0
  while (texts.length < warningsMax && warning.lastIndex < header.length) {
    const match = warning.exec(header)
    if (match === null) break
    if (match[1] === '299') texts.push(match[2]!.replaceAll(/\\(.)/g, '$1'))
  }
  return texts
}
