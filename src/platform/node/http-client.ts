import type { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Duplex } from 'node:stream'
import { http } from './builtin-http.ts'
import { HttpClientError } from '../http-client.ts'
import type {
  HttpClient,
  HttpClientOptions,
  HttpClientRequest,
  HttpClientResponse,
  HttpUpgrade,
  HttpUpgradeRequest,
} from '../http-client.ts'
import { requestHttp1 } from './http-client/http1.ts'
import type { SessionPool } from './http-client/session-pool.ts'
import { connectHttp1, connectTls, tlsOptions } from './http-client/tls.ts'
import { requestUpgrade } from './http-client/upgrade.ts'

export function connectHttp(options: HttpClientOptions): HttpClient {
  return new NodeHttpClient(options)
}

/** Maximum HTTP/1.1 connections, each with one request at a time; further requests wait. */
const http1ConnectionsMax = 256

/** Maximum attempts for a request that no server has seen. */
const triesMax = 3

class NodeHttpClient implements HttpClient {
  readonly #options: HttpClientOptions
  readonly #origin: URL
  /** Of the HTTP/2 connections. Loaded when a server speaks it, since Node's implementation takes long to load. */
  #pool: SessionPool | undefined
  /** Created for the first HTTP/1.1 request, which fails if certificates cannot be parsed. */
  #agent: HttpAgent | undefined
  #isClosed = false
  /** Protocol of the server; negotiated once, and again after a failure. */
  #protocol: Promise<'http2' | 'http1'> | undefined

  constructor(options: HttpClientOptions) {
    this.#options = options
    this.#origin = new URL(options.origin)
  }

  async request(request: HttpClientRequest): Promise<HttpClientResponse> {
    for (let tries = 1; ; tries++) {
      request.signal?.throwIfAborted()
      try {
        return await this.#try(request)
      } catch (error) {
        const isUnseen = error instanceof HttpClientError && !error.sent && error.reason === 'interrupted'
        if (!isUnseen || tries === triesMax || !isRepeatable(request)) throw error
      }
    }
  }

  async upgrade(request: HttpUpgradeRequest): Promise<HttpUpgrade> {
    request.signal?.throwIfAborted()
    return requestUpgrade(this.#options, request)
  }

  close(): void {
    this.#isClosed = true
    this.#pool?.close()
    if (this.#agent === undefined) return
    this.#agent.maxFreeSockets = 0
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#pool?.destroy()
    this.#agent?.destroy()
  }

  async #try(request: HttpClientRequest): Promise<HttpClientResponse> {
    if ((await this.#speaks(request.signal)) === 'http1') {
      this.#agent ??= agentOf(this.#options)
      return requestHttp1(this.#options, this.#agent, request)
    }
    const [pool, { requestHttp2 }] = await Promise.all([this.#openPool(), import('./http-client/http2.ts')])
    const lease = await pool.acquire(request.signal)
    return requestHttp2(this.#origin, lease, request)
  }

  async #openPool(): Promise<SessionPool> {
    const { SessionPool } = await import('./http-client/session-pool.ts')
    if (this.#pool === undefined) {
      this.#pool = new SessionPool(this.#options)
      if (this.#isClosed) this.#pool.close()
    }
    return this.#pool
  }

  async #speaks(signal: AbortSignal | undefined): Promise<'http2' | 'http1'> {
    if (this.#origin.protocol === 'http:' || this.#options.protocol === 'http1') return 'http1'
    this.#protocol ??= this.#negotiate(signal)
    const protocol = this.#protocol
    try {
      return await protocol
    } catch (error) {
      if (this.#protocol === protocol) this.#protocol = undefined
      throw error
    }
  }

  /**
   * With HTTP/2 the connection used for negotiation becomes the first of the pool; HTTP/1.1 opens new ones.
   */
  async #negotiate(signal: AbortSignal | undefined): Promise<'http2' | 'http1'> {
    const socket = await connectTls(this.#options, signal)
    if (socket.alpnProtocol === 'h2') {
      const pool = await this.#openPool()
      pool.adopt(socket)
      return 'http2'
    }
    socket.destroy()
    return 'http1'
  }
}

function agentOf(options: HttpClientOptions): HttpAgent {
  const common = { keepAlive: true, maxSockets: http1ConnectionsMax, scheduling: 'lifo' } as const
  const agent = options.origin.startsWith('http:')
    ? new http.Agent(common)
    : new HttpsAgent({ ...common, ...tlsOptions(options) })
  return options.proxy === undefined ? agent : Object.assign(agent, { createConnection: proxied(options) })
}

/** The way in which an agent opens connections. */
function proxied(options: HttpClientOptions) {
  const open = async (done: (error: Error | null, socket?: Duplex) => void): Promise<void> => {
    let socket: Duplex
    try {
      socket = await connectHttp1(options, undefined)
    } catch (error) {
      return done(error as Error)
    }
    done(null, socket)
  }
  return (_: unknown, done: (error: Error | null, socket?: Duplex) => void): void => void open(done)
}

function isRepeatable({ body }: HttpClientRequest): boolean {
  return body === undefined || body instanceof Uint8Array
}
