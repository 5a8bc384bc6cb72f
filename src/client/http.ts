/**
 * The HTTP transport: one server, with credentials resolved for each request. Connections, TLS and
 * compression are handled by the platform; this module adds credentials and limits the size of a response and
 * the time without data.
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import {
  HttpClientError,
  type HttpClient,
  type HttpClientRequest,
  type HttpClientResponse,
  type HttpConnect,
  type HttpUpgrade,
  type HttpUpgradeRequest,
} from '#/platform/http-client.ts'
import type { Clock, Platform } from '#/platform/platform.ts'
import { abortableEach, LinkedAbort } from '#/base/abort.ts'
import type { ClientCertificate, Credentials, RequestCredentials } from '#/kubeconfig/credentials.ts'
import type { RestClientHostMetrics } from './rest-client-metrics.ts'
import { Watchdog } from './request/watchdog.ts'
import {
  TransportError,
  type Transport,
  type TransportBody,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts'

export interface HttpTransportOptions {
  readonly platform: Platform
  readonly connect: HttpConnect
  readonly server: HttpServerSettings
  readonly credentials: Credentials
  /** For the sizes of requests and responses. */
  readonly metrics?: RestClientHostMetrics | undefined
}

export interface HttpServerSettings {
  /** `https://host:port`, with an optional path prefix. */
  readonly url: string
  /** PEM; the system's certificate authorities when absent. */
  readonly ca?: Uint8Array | string
  readonly insecureSkipVerify?: boolean
  /** Overrides the host of the URL for verification of the server's certificate. */
  readonly serverName?: string
  readonly disableCompression?: boolean
  readonly proxy?: string
}

/** Larger responses are rejected; lists of this size must be paged. */
const responseBytesMax = 400_000_000

/** Maximum time without data after the response headers. */
const readTimeoutMs = 30_000

export class HttpTransport implements Transport, AsyncDisposable {
  readonly #options: HttpTransportOptions
  readonly #clock: Clock
  readonly #url: URL
  /** The HTTP client and the client certificate of its connections. */
  #current: { readonly client: HttpClient; readonly certificate: ClientCertificate | undefined } | undefined

  constructor(options: HttpTransportOptions) {
    this.#options = options
    this.#clock = options.platform.clock
    this.#url = new URL(options.server.url)
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    return this.#request(request, this.#options.credentials)
  }

  /** Requests with other credentials over the same connections; they must not have a certificate. */
  withCredentials(credentials: Credentials): Transport {
    return { request: request => this.#request(request, credentials) }
  }

  async #request(request: TransportRequest, credentials: Credentials): Promise<TransportResponse> {
    const first = await credentials.current(request.signal)
    const response = await this.#send(request, first)
    if (response.status !== 401 || !credentials.onUnauthorized(first)) return this.#read(response, request)
    response.discard()
    return this.#read(await this.#send(request, await credentials.current(request.signal)), request)
  }

  /**
   * Passes a request of another client on, with the credentials of this connection unless it has its own. The path is
   * relative to the URL of the server.
   */
  async forward(request: HttpClientRequest): Promise<HttpClientResponse> {
    const { credentials } = this.#options
    const signal = signalOf(request)
    const first = await credentials.current(signal)
    const response = await this.#forward(request, first)
    if (response.status !== 401 || request.headers?.['authorization'] !== undefined) return response
    // Also for a body that is used up, so that the next request has other credentials.
    if (!credentials.onUnauthorized(first) || request.body !== undefined) return response
    response.discard()
    return this.#forward(request, await credentials.current(signal))
  }

  async #forward(
    request: HttpClientRequest,
    { headers, certificate }: RequestCredentials,
  ): Promise<HttpClientResponse> {
    try {
      const path = this.#prefix + request.path
      return await this.#client(certificate).request({
        ...request,
        path,
        headers: { ...headers, ...request.headers },
      })
    } catch (error) {
      throw translate(error)
    }
  }

  /**
   * Requests a protocol upgrade, for exec, attach and port-forward. The path is relative to the URL of the server.
   * After the upgrade the connection belongs to the caller.
   */
  async upgrade(request: HttpUpgradeRequest): Promise<HttpUpgrade> {
    const { credentials } = this.#options
    const signal = signalOf(request)
    const first = await credentials.current(signal)
    const answer = await this.#upgrade(request, first)
    if (answer.type === 'upgraded' || answer.response.status !== 401 || !credentials.onUnauthorized(first)) {
      return answer
    }
    answer.response.discard()
    return this.#upgrade(request, await credentials.current(signal))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#current?.client[Symbol.asyncDispose]()
  }

  async #send(request: TransportRequest, credentials: RequestCredentials): Promise<HttpClientResponse> {
    const { method, signal, body } = request
    const isCompressed = this.#options.server.disableCompression !== true && !request.query.has('watch')
    const headers = {
      ...request.headers,
      ...credentials.headers,
      ...(isCompressed && { 'accept-encoding': 'gzip' }),
      ...(body !== undefined && { 'content-type': body.mediaType }),
    }
    const bytes = body && bytesOf(body)
    const sent = { method, path: this.#pathOf(request), headers, signal, ...(bytes && { body: bytes }) }
    this.#options.metrics?.sent(method, bytes?.length ?? 0)
    try {
      return await this.#client(credentials.certificate).request(sent)
    } catch (error) {
      throw translate(error)
    }
  }

  async #upgrade(request: HttpUpgradeRequest, credentials: RequestCredentials): Promise<HttpUpgrade> {
    const headers = { ...request.headers, ...credentials.headers }
    try {
      const path = this.#prefix + request.path
      return await this.#client(credentials.certificate).upgrade({ ...request, path, headers })
    } catch (error) {
      throw translate(error)
    }
  }

  get #prefix(): string {
    return this.#url.pathname.replace(/\/+$/, '')
  }

  #pathOf({ path, query }: TransportRequest): string {
    const parameters = query.toString()
    return parameters === '' ? this.#prefix + path : `${this.#prefix}${path}?${parameters}`
  }

  /** A new certificate needs new connections; requests in flight finish on the old ones. */
  #client(certificate: ClientCertificate | undefined): HttpClient {
    if (this.#current !== undefined && isSame(this.#current.certificate, certificate)) {
      return this.#current.client
    }
    this.#current?.client.close()
    const {
      connect,
      server: { ca, insecureSkipVerify, serverName, proxy },
    } = this.#options
    const client = connect({
      origin: this.#url.origin,
      tls: {
        ...(ca !== undefined && { ca }),
        ...(insecureSkipVerify !== undefined && { insecureSkipVerify }),
        ...(serverName !== undefined && { serverName }),
        ...certificate,
      },
      ...(proxy !== undefined && { proxy }),
    })
    this.#current = { client, certificate }
    return client
  }

  #read(response: HttpClientResponse, { method, signal }: TransportRequest): TransportResponse {
    const bytes = translated(response.body)
    const { metrics } = this.#options
    const onRead = (sizeBytes: number): void => metrics?.received(method, sizeBytes)
    const discard = (): void => response.discard()
    return {
      status: response.status,
      headers: response.headers,
      value: () => readValue(bytes, { clock: this.#clock, signal, discard, onRead }),
      events: () => watchFrames(bytes),
      bytes: () => bytes,
      discard,
    }
  }
}

function signalOf({ signal }: { readonly signal?: AbortSignal }): AbortSignal {
  return signal ?? new AbortController().signal
}

function isSame(left: ClientCertificate | undefined, right: ClientCertificate | undefined): boolean {
  if (left === undefined || right === undefined) return left === right
  const equal = (some: Uint8Array | string, others: Uint8Array | string): boolean => {
    return Buffer.from(some).equals(Buffer.from(others))
  }
  return equal(left.cert, right.cert) && equal(left.key, right.key)
}

function bytesOf(body: TransportBody): Uint8Array {
  return 'bytes' in body ? body.bytes : Buffer.from(stringifyJson(body.value as JsonValue))
}

interface Reading {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly discard: () => void
  readonly onRead: (sizeBytes: number) => void
}

async function readValue(
  bytes: AsyncIterable<Uint8Array>,
  { clock, signal, discard, onRead }: Reading,
): Promise<unknown> {
  using stalled = new LinkedAbort(signal)
  using watchdog = new Watchdog(clock, readTimeoutMs, () => {
    stalled.abort(new TransportError('stalled', `no response data within ${readTimeoutMs} ms`))
    discard()
  })
  const pieces: Uint8Array[] = []
  let total = 0
  for await (const piece of abortableEach(bytes, stalled.signal)) {
    watchdog.reset()
    pieces.push(piece)
    total += piece.length
    if (total > responseBytesMax) {
      throw new TransportError('too-large', `response exceeds ${responseBytesMax} bytes`)
    }
  }
  onRead(total)
  return total === 0 ? undefined : await parse(Buffer.concat(pieces))
}

/** Loads the definitions of the API on demand, since programs that send one request do without them. */
async function parse(bytes: Buffer): Promise<unknown> {
  try {
    if (!bytes.includes(':null')) return parseJson(bytes)
    const { parseEncodedObject } = await import('#/api/encoded-object.ts')
    return parseEncodedObject(bytes)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new TransportError('invalid-response', `response is not valid JSON: ${error.message}`, {
      cause: error,
    })
  }
}

async function* watchFrames(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly unknown[], void, undefined> {
  const { readWatchFrames } = await import('./watch-frames.ts')
  yield* readWatchFrames(bytes)
}

async function* translated(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body
  } catch (error) {
    throw translate(error)
  }
}

function translate(error: unknown): unknown {
  if (!(error instanceof HttpClientError)) return error
  return new TransportError(error.reason, error.message, { cause: error, sent: error.sent })
}
