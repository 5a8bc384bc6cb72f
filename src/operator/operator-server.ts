/**
 * The HTTPS server of an operator: `/healthz` and `/readyz` for probes, `/metrics` for Prometheus, and its
 * webhooks. Clients are not authenticated: nothing that it serves is secret, and a webhook only answers.
 */
import { metricsMediaType, type MetricsRegistry } from '#/base/metrics.ts'
import { ApiError } from '#/api/errors.ts'
import {
  HttpBodyError,
  type HttpExchange,
  type HttpServer,
  type HttpTls,
  type ServeHttp,
} from '#/platform/http.ts'
import type { Log } from '#/platform/platform.ts'
import { respondToReview, type Webhook } from './webhooks.ts'

export interface OperatorServerOptions {
  readonly serveHttp: ServeHttp
  /** Default all addresses. */
  readonly host?: string | undefined
  readonly port: number
  readonly tls: HttpTls
  readonly log: Log
  readonly metrics: MetricsRegistry
  readonly webhooks: readonly Webhook[]
  /** The reason why the operator is not ready; undefined when it is. */
  readonly unreadyReason: () => string | undefined
}

/**
 * Maximum size of a review: an object of 3 MiB before and after the change, or a list of objects to convert.
 * Larger ones are refused with 413.
 */
const reviewBytesMax = 32 * 1024 * 1024

export class OperatorServer {
  readonly #options: OperatorServerOptions
  readonly #webhooks: ReadonlyMap<string, Webhook>
  #http: HttpServer | undefined

  private constructor(options: OperatorServerOptions) {
    this.#options = options
    this.#webhooks = new Map(options.webhooks.map(webhook => [webhook.path, webhook]))
  }

  /** Rejects if the address is in use. */
  static async start(options: OperatorServerOptions): Promise<OperatorServer> {
    const server = new OperatorServer(options)
    const { serveHttp, host, port, tls } = options
    const onExchange = (exchange: HttpExchange): void => void server.#serve(exchange)
    const listen = (at: string): Promise<HttpServer> => serveHttp({ host: at, port, tls, onExchange })
    server.#http = await (host === undefined ? listen('::').catch(withoutIpv6(listen)) : listen(host))
    return server
  }

  get address(): { readonly host: string; readonly port: number } {
    return this.#http!.address
  }

  setTls(tls: HttpTls): void {
    this.#http!.setTls(tls)
  }

  /** Pending requests may complete within `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    await this.#http!.stop(graceMs)
  }

  /** Never rejects. */
  async #serve(exchange: HttpExchange): Promise<void> {
    const { log } = this.#options
    try {
      const { status, mediaType = 'text/plain; charset=utf-8', text } = await this.#respond(exchange)
      exchange.respond(status, { 'content-type': mediaType })
      exchange.end([Buffer.from(text)])
    } catch (error) {
      log.warn('Failed to serve request', { method: exchange.method, target: exchange.target, error })
      exchange.abort()
    }
  }

  async #respond(exchange: HttpExchange): Promise<Response> {
    const path = exchange.target.replace(/\?.*/s, '')
    const webhook = this.#webhooks.get(path)
    if (webhook !== undefined) return this.#review(webhook, exchange)
    const { metrics, unreadyReason } = this.#options
    switch (path) {
      case '/healthz':
      case '/livez':
        return { status: 200, text: 'ok' }
      case '/readyz': {
        const reason = unreadyReason()
        return reason === undefined ? { status: 200, text: 'ok' } : { status: 503, text: reason }
      }
      case '/metrics':
        return { status: 200, mediaType: metricsMediaType, text: metrics.render() }
      default:
        return { status: 404, text: 'not found' }
    }
  }

  async #review(webhook: Webhook, exchange: HttpExchange): Promise<Response> {
    if (exchange.method !== 'POST') return { status: 405, text: 'method not allowed' }
    try {
      const review = await respondToReview(webhook, await exchange.readBody(reviewBytesMax))
      return { status: 200, mediaType: 'application/json', text: JSON.stringify(review) }
    } catch (error) {
      if (error instanceof ApiError) return { status: error.code, text: error.message }
      if (error instanceof HttpBodyError && error.reason === 'too-large')
        return { status: 413, text: error.message }
      this.#options.log.error('Webhook failed', { path: webhook.path, error })
      return { status: 500, text: 'internal error' }
    }
  }
}

/** A kernel without IPv6 has only the addresses of IPv4. */
function withoutIpv6(listen: (host: string) => Promise<HttpServer>) {
  return (error: unknown): Promise<HttpServer> => {
    if ((error as { readonly code?: unknown }).code === 'EAFNOSUPPORT') return listen('0.0.0.0')
    throw error
  }
}

interface Response {
  readonly status: number
  readonly mediaType?: string
  readonly text: string
}
