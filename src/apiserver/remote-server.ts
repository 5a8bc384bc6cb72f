/**
 * A server that is not ours and that this server asks things: webhooks of all sorts. Its connections are kept between
 * questions; what a question may take, and what an answer may be, is bounded.
 */
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

export interface RemoteQuestion {
  /** With the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Posted; without it the answer is got. */
  readonly body?: Uint8Array
  readonly timeoutMs: number
  /** Gives up. */
  readonly signal?: AbortSignal
}

export interface RemoteAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Uint8Array
}

/** The time is over. */
export class RemoteTimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`no answer within ${timeoutMs} ms`)
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

  /** Rejects with HttpClientError, RemoteTimeoutError, the signal's reason, or an error that says what is too large. */
  async ask({ path, headers, body, timeoutMs, signal }: RemoteQuestion): Promise<RemoteAnswer> {
    const { clock, answerBytesMax } = this.#options
    const timeout = new AbortController()
    const timer = clock.setTimer(timeoutMs, () => timeout.abort(new RemoteTimeoutError(timeoutMs)))
    try {
      const response = await this.#client.request({
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

  /** No more questions will come. */
  close(): void {
    this.#client.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }
}

/** A question may take less; a connection that takes longer is of no use to any. */
const connectMsMax = 30_000

async function readAll(pieces: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const read: Uint8Array[] = []
  let sizeBytes = 0
  for await (const piece of pieces) {
    sizeBytes += piece.length
    if (sizeBytes > bytesMax) throw new Error(`the answer is larger than ${bytesMax} bytes`)
    read.push(piece)
  }
  return Buffer.concat(read)
}
