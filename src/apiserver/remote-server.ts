/**
 * Client of an external server such as a webhook. Connections are reused; time and response size are bounded.
 */
import { readAll } from '#/base/read-all.ts'
import type { HttpClient, HttpClientTls, HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'

export interface RemoteServerOptions {
  readonly clock: Clock
  readonly connectHttp: HttpConnect
  /** `https://host:port`. */
  readonly origin: string
  readonly tls?: HttpClientTls
  readonly answerBytesMax: number
}

export interface RemoteRequest {
  /** Includes the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Sent with POST; without it the request is a GET. */
  readonly body?: Uint8Array
  readonly timeoutMs: number
  /** Cancels the request. */
  readonly signal?: AbortSignal
}

export interface RemoteResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Uint8Array
}

export class RemoteTimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`timed out after ${timeoutMs} ms`)
    this.name = 'RemoteTimeoutError'
  }
}

export class RemoteServer implements AsyncDisposable {
  readonly #options: RemoteServerOptions
  readonly #client: HttpClient

  constructor(options: RemoteServerOptions) {
    const { connectHttp, origin, tls } = options
    this.#options = options
    this.#client = connectHttp({ origin, ...(tls && { tls }), connectTimeoutMs: connectMsMax })
  }

  /** Rejects as `requestRemote` does. */
  request(request: RemoteRequest): Promise<RemoteResponse> {
    const { clock, answerBytesMax } = this.#options
    return requestRemote({ client: this.#client, clock, answerBytesMax }, request)
  }

  /** Closes the connections once idle; no requests may follow. */
  close(): void {
    this.#client.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }
}

export interface RemoteTarget {
  readonly client: HttpClient
  readonly clock: Clock
  readonly answerBytesMax: number
}

/**
 * Sends a request and reads the whole response. Rejects with HttpClientError, RemoteTimeoutError, the signal's
 * reason, or an error if the response is too large.
 */
export async function requestRemote(
  { client, clock, answerBytesMax }: RemoteTarget,
  { path, headers, body, timeoutMs, signal }: RemoteRequest,
): Promise<RemoteResponse> {
  const timeout = new AbortController()
  const timer = clock.setTimer(timeoutMs, () => timeout.abort(new RemoteTimeoutError(timeoutMs)))
  try {
    const response = await client.request({
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers: {
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body }),
      signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
    })
    return {
      status: response.status,
      headers: response.headers,
      bytes: await readAll(response.body, answerBytesMax),
    }
  } finally {
    timer.cancel()
  }
}

/** Connect timeout; the timeout of a request may be shorter. */
const connectMsMax = 30_000
