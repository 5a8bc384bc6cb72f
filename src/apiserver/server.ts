/**
 * The HTTPS front end of the API server: converts requests to `ApiRequest` and sends the responses.
 * Connection limits are enforced in `platform/http.ts`; requests are interpreted by the pipeline.
 */
import type {
  HttpConnection,
  HttpExchange,
  HttpLimits,
  HttpRejection,
  HttpServer,
  HttpTls,
  ServeHttp,
} from '#/platform/http.ts'
import { HttpClientError } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { UpgradeBody } from '#/api/transport.ts'
import type { Handle } from './pipeline.ts'
import type { ApiResponse, Peer } from './request.ts'
import { HttpResponseWriter } from './server/http-response-writer.ts'
import { clientDisconnected, HttpRequest } from './server/http-request.ts'
import { LargeResponses } from './server/large-responses.ts'
import { SendBuffers } from './server/send-buffers.ts'

export interface ServerOptions {
  readonly platform: Platform
  readonly serveHttp: ServeHttp
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly tls: HttpTls
  readonly handle: Handle
  readonly limits?: Partial<HttpLimits>
  readonly onRejected?: (reason: HttpRejection) => void
}

export class Server {
  readonly #platform: Platform
  readonly #handle: Handle
  readonly #largeResponses: LargeResponses
  readonly #sendBuffers = new SendBuffers()
  readonly #peers = new WeakMap<HttpConnection, Peer>()
  /** Streaming responses and upgraded connections, which are ended when the server stops. */
  readonly #lasting = new Set<Lasting>()
  #http: HttpServer | undefined
  #isStopping = false

  private constructor({ platform, handle }: ServerOptions) {
    this.#platform = platform
    this.#handle = handle
    this.#largeResponses = new LargeResponses({ clock: platform.clock, sendingMax: largeResponsesMax })
  }

  /** Rejects if the address is in use or the certificate is invalid. */
  static async start(options: ServerOptions): Promise<Server> {
    const server = new Server(options)
    const { serveHttp, host, port, tls, limits, onRejected } = options
    server.#http = await serveHttp({
      host,
      port,
      tls,
      limits,
      onRejected,
      onExchange: exchange => void server.#serve(exchange),
    })
    return server
  }

  get address(): { readonly host: string; readonly port: number } {
    return this.#http!.address
  }

  get connectionCount(): number {
    return this.#http!.connectionCount
  }

  setTls(tls: HttpTls): void {
    this.#http!.setTls(tls)
  }

  /**
   * Stops accepting requests, ends long-running ones, and gives the others `graceMs` to finish. Resolves when
   * all connections are closed.
   */
  async stop(graceMs: number): Promise<void> {
    this.#isStopping = true
    for (const each of this.#lasting) each.abort(stopping)
    await this.#http!.stop(graceMs)
  }

  /** Never rejects. */
  async #serve(exchange: HttpExchange): Promise<void> {
    const request = new HttpRequest(exchange, this.#peerOf(exchange.connection))
    const reply = new HttpResponseWriter({
      exchange,
      request,
      largeResponses: this.#largeResponses,
      sendBuffers: this.#sendBuffers,
      random: this.#platform.random,
    })
    try {
      const response = await this.#handle(request)
      const { body } = response
      if (body?.type === 'upgrade') return await this.#upgrade(exchange, response, body)
      if (body?.type === 'stream') this.#noteLasting(request, exchange)
      const sending = reply.send({ ...response, body })
      if (sending) await sending
    } catch (error) {
      // The pipeline converts errors to responses; this handles failures while sending, or in the pipeline
      // itself.
      const { method, path } = request
      const { log } = this.#platform
      if (error instanceof HttpClientError) log.info('upstream response aborted', { path, error })
      else if (error !== clientDisconnected && error !== stopping)
        log.error('failed to send response', { method, path, error })
      reply.fail(error)
    }
  }

  async #upgrade(exchange: HttpExchange, response: ApiResponse, body: UpgradeBody): Promise<void> {
    const stop = new AbortController()
    if (this.#isStopping) return body.discard()
    this.#lasting.add(stop)
    await sendUpgrade({ exchange, response, body, signal: stop.signal })
    this.#lasting.delete(stop)
  }

  #noteLasting(request: HttpRequest, exchange: HttpExchange): void {
    if (this.#isStopping) return request.abort(stopping)
    this.#lasting.add(request)
    exchange.onClose(() => this.#lasting.delete(request))
  }

  #peerOf(connection: HttpConnection): Peer {
    const known = this.#peers.get(connection)
    const { certificate } = connection
    const isExpired = certificate !== undefined && certificate.expiresMs < this.#platform.clock.now()
    if (known !== undefined && (known.certificate === undefined || !isExpired)) return known
    const certificateError = isExpired ? 'CERT_HAS_EXPIRED' : connection.certificateError
    const peer = {
      address: connection.address,
      ...(certificate && !isExpired && { certificate }),
      ...(certificateError !== undefined && { certificateError }),
      onAuthenticated: () => connection.authenticated(),
    }
    this.#peers.set(connection, peer)
    return peer
  }
}

/** A long-running response that can be aborted. */
interface Lasting {
  abort(reason: Error): void
}

/** Large responses being sent, of about half a megabyte of memory each; further ones wait. */
const largeResponsesMax = 500

const stopping = new Error('the server is stopping')

interface UpgradeReply {
  readonly exchange: HttpExchange
  readonly response: ApiResponse
  readonly body: UpgradeBody
  /** Ends the upgraded connection. */
  readonly signal: AbortSignal
}

/**
 * Sends the 101 response and hands the connection over to the upgraded protocol. Resolves when the connection is
 * closed.
 */
async function sendUpgrade({ exchange, response, body, signal }: UpgradeReply): Promise<void> {
  if (exchange.closed || exchange.hijack === undefined) return body.discard()
  const { connection, head } = exchange.hijack()
  connection.write(upgradeHead(response))
  try {
    await body.serve({ connection, head, signal })
  } finally {
    connection.destroy()
  }
}

function upgradeHead({ status, headers = {} }: ApiResponse): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map(each => `${name}: ${withoutLineBreaks(each)}\r\n`),
  )
  return `HTTP/1.1 ${status} Switching Protocols\r\n${lines.join('')}\r\n`
}

/** Prevents header injection through line breaks. */
function withoutLineBreaks(value: string): string {
  return value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, ' ')
}
