import type { Clock } from '#/platform/platform.ts'
import { LinkedAbort } from '../abort.ts'
import type { ClientOptions, RawRequest } from '../client.ts'
import {
  TransportError,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '../transport.ts'
import { responseError } from './response-error.ts'
import { planRetry } from './retry.ts'
import { parseWarnings } from './warnings.ts'

/** Default timeout for the response headers: slightly above the server's own request timeout. */
const timeoutMsUsual = 70_000

/** Sends a request, with retries, and throws error responses. */
export class Sender {
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #headers: Readonly<Record<string, string>>
  readonly #onWarning: ((text: string) => void) | undefined

  constructor({ transport, platform, userAgent, onWarning }: ClientOptions) {
    this.#transport = transport
    this.#clock = platform.clock
    this.#headers = { 'accept': 'application/json', 'user-agent': userAgent }
    this.#onWarning = onWarning
  }

  async send(request: RawRequest): Promise<TransportResponse> {
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
      await this.#clock.sleep(delayMs, request.signal)
    }
  }

  /** The timeout covers the response headers only: the time for the body depends on its size. */
  async #once(request: RawRequest): Promise<TransportResponse> {
    const { method, path, query, headers, body, timeoutMs = timeoutMsUsual } = request
    const abort = new LinkedAbort(request.signal)
    const onTimeout = (): void =>
      abort.abort(new TransportError('timeout', `${method} ${path}: no response within ${timeoutMs} ms`))
    const timer = this.#clock.setTimer(timeoutMs, onTimeout)
    const sent: TransportRequest = {
      method,
      path,
      query: query ?? new URLSearchParams(),
      headers: { ...this.#headers, ...headers },
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
