/**
 * A server for HTTP/1.1 without TLS, for health checks and metrics of components that upstream serves so. It answers
 * one request for each connection and ignores bodies. Clients are not authenticated, so every limit is tight.
 */
import type { Duplex } from 'node:stream'
import { ConnectionPool } from '#/base/connection-pool.ts'
import type { Clock, Listener, Platform } from './platform.ts'

export interface PlainHttpOptions {
  readonly platform: Pick<Platform, 'clock' | 'network'>
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** Must not reject. */
  readonly answer: (request: PlainRequest) => PlainResponse | Promise<PlainResponse>
}

export interface PlainRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly accept: string | undefined
}

export interface PlainResponse {
  readonly status: number
  readonly mediaType: string
  readonly text: string
  readonly headers?: Readonly<Record<string, string>>
}

const requestTimeoutMs = 5_000
const requestBytesMax = 8 * 1024

/** Maximum number of connections; further ones are closed. */
const connectionsMax = 100

export class PlainHttpServer implements AsyncDisposable {
  readonly #options: PlainHttpOptions
  readonly #connections = new ConnectionPool<Duplex>(connectionsMax)
  #listener: Listener | undefined

  private constructor(options: PlainHttpOptions) {
    this.#options = options
  }

  /** Rejects if the address is in use. */
  static async start(options: PlainHttpOptions): Promise<PlainHttpServer> {
    const server = new PlainHttpServer(options)
    const { platform, host, port } = options
    server.#listener = await platform.network.listen({ host, port }, (connection, address) => {
      server.#accept(connection, address)
    })
    return server
  }

  get port(): number {
    const { address } = this.#listener!
    return 'port' in address ? address.port : 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.destroy()
    await this.#listener?.[Symbol.asyncDispose]()
  }

  #accept(connection: Duplex, address: string): void {
    const { clock } = this.#options.platform
    const closed = this.#connections.add(connection, { address, nowMs: clock.monotonicMs() })
    closed?.destroy()
    if (closed === connection) return
    connection.once('close', () => this.#connections.delete(connection))
    connection.on('error', () => undefined)
    readRequest(connection, clock, async request => {
      const response = request && (await this.#options.answer(request))
      connection.end(formatResponse(response ?? badRequest, request?.method === 'HEAD'))
    })
  }
}

const badRequest: PlainResponse = { status: 400, mediaType: 'text/plain; charset=utf-8', text: 'Bad Request' }

/** Calls back once with the request, or with undefined if it is malformed. Closes slow connections. */
function readRequest(
  connection: Duplex,
  clock: Clock,
  onRequest: (request: PlainRequest | undefined) => Promise<void>,
): void {
  const timer = clock.setTimer(requestTimeoutMs, () => void connection.destroy())
  let received = ''
  connection.once('close', () => timer.cancel())
  connection.on('data', (bytes: Uint8Array) => {
    received += Buffer.from(bytes).toString('latin1')
    if (received.length > requestBytesMax) return void connection.destroy()
    if (!received.includes('\r\n\r\n')) return
    timer.cancel()
    connection.removeAllListeners('data')
    connection.resume()
    void onRequest(parseRequest(received))
  })
}

function parseRequest(head: string): PlainRequest | undefined {
  const [, method, path] = /^([A-Z]+) (\/[^\s?]*)(?:\?\S*)? HTTP\/1\.[01]\r\n/.exec(head) ?? []
  if (method === undefined || path === undefined) return undefined
  return { method, path, accept: /^accept: *(.*)$/im.exec(head)?.[1] }
}

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  404: 'Not Found',
  405: 'Method Not Allowed',
  503: 'Service Unavailable',
}

function formatResponse({ status, mediaType, text, headers = {} }: PlainResponse, isHead: boolean): string {
  const fields = {
    'Content-Type': mediaType,
    'X-Content-Type-Options': 'nosniff',
    ...headers,
    'Content-Length': String(Buffer.byteLength(text)),
    'Connection': 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${reasons[status] ?? ''}`, ...lines, '', isHead ? '' : text].join('\r\n')
}
