/**
 * The kubelet's HTTPS server: container logs, exec, attach, port-forward, metrics and stats. Clients are
 * authenticated, and the API server authorizes them; the main client is the API server itself, on behalf of
 * users that it has authorized. It does not change pods.
 */
import type { Client } from '#/client/client.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { HttpExchange, HttpLimits, HttpServer, HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { KubeletView } from './kubelet-view.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { respondText } from './server/responses.ts'
import { Authentication } from './server/authentication.ts'
import { Authorization } from './server/authorization.ts'
import { requestAttributes } from './server/request-attributes.ts'
import { findRoute, type ServerRequest } from './server/routes.ts'
import { ServerMetrics } from './server/server-metrics.ts'
import { SessionLimits } from './server/session-limits.ts'
import { StatsProvider } from './server/stats.ts'

export interface KubeletServerOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly serveHttp: ServeHttp
  /** Authenticated as `system:node:NAME`; used for TokenReview and SubjectAccessReview. */
  readonly client: Client
  readonly runtime: ContainerRuntime
  readonly node: KubeletConfiguration
  readonly view: KubeletView
  /** Serving certificate, and the cluster's CA for client certificates. */
  readonly tls: HttpTls
  /** Usage of this process. */
  readonly usage?: () => ProcessUsage
  readonly limits?: Partial<HttpLimits>
}

export class KubeletServer {
  readonly #options: KubeletServerOptions
  readonly #authentication: Authentication
  readonly #authorization: Authorization
  readonly #stats: StatsProvider
  readonly #metrics: ServerMetrics
  readonly #sessionLimits = new SessionLimits()
  /** Aborts long-running requests. */
  readonly #stopping = new AbortController()
  #http: HttpServer | undefined

  private constructor(options: KubeletServerOptions) {
    const { platform, client, node, usage } = options
    const { clock } = platform
    this.#options = options
    this.#authentication = new Authentication({ client, clock })
    this.#authorization = new Authorization({ client, clock, nodeName: node.name })
    this.#stats = new StatsProvider(options)
    this.#metrics = new ServerMetrics(usage)
  }

  /** Rejects if the address is in use or the certificate is invalid. */
  static async start(options: KubeletServerOptions): Promise<KubeletServer> {
    const server = new KubeletServer(options)
    const { serveHttp, node, tls, limits } = options
    server.#http = await serveHttp({
      host: node.addresses[0] ?? '127.0.0.1',
      port: node.kubeletPort,
      tls,
      limits,
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

  /** Aborts long-running requests; others may complete within `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(new Error('the kubelet is stopping'))
    await this.#http!.stop(graceMs)
  }

  /** Never rejects. */
  async #serve(exchange: HttpExchange): Promise<void> {
    const counted = this.#metrics.begin(exchange)
    try {
      await this.#answer(exchange)
    } catch (error) {
      const { method, target } = exchange
      this.#options.platform.log.warn('Failed to serve request', { method, target, error })
      if (!exchange.closed) fail(exchange)
    } finally {
      counted.end()
    }
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    const parsed = parseTarget(exchange.target)
    if (parsed === undefined) return respondText(exchange, 400, 'invalid URL path\n')
    if (!(await this.#admits(exchange, parsed.path))) return
    const route = findRoute(exchange.method, parsed.path)
    if (route === 'not found') return respondText(exchange, 404, '404 page not found\n')
    if (route === 'not allowed') return respondText(exchange, 405, 'Method Not Allowed')
    const { platform, linux, runtime, node, view } = this.#options
    const { signal } = this.#stopping
    const request: ServerRequest = {
      platform,
      linux,
      runtime,
      node,
      view,
      signal,
      exchange,
      query: parsed.query,
      parameters: route.parameters,
      stats: this.#stats,
      metrics: this.#metrics,
      sessionLimits: this.#sessionLimits,
    }
    await route.handle(request)
  }

  /** Authenticates and authorizes the request. If it returns false, the response has been sent. */
  async #admits(exchange: HttpExchange, path: string): Promise<boolean> {
    const user = await this.#authentication.userOf(exchange).catch((error: unknown) => {
      this.#options.platform.log.warn('Unable to authenticate the request due to an error', { error })
      return undefined
    })
    if (user === undefined) {
      respondText(exchange, 401, 'Unauthorized')
      return false
    }
    exchange.connection.authenticated()
    const attributes = requestAttributes(exchange.method, path)
    const { verb, subresources } = attributes
    const what = `user=${user.username}, verb=${verb}, resource=nodes`
    try {
      if (await this.#authorization.isAllowed(user, attributes)) return true
      respondText(exchange, 403, `Forbidden (${what}, subresource(s)=[${subresources.join(' ')}])\n`)
    } catch (error) {
      this.#options.platform.log.warn('Authorization error', { error })
      respondText(exchange, 500, `Authorization error (${what}, subresource=${subresources[0]})`)
    }
    return false
  }
}

/** Answers 500 without details, or aborts a response that has been started. */
function fail(exchange: HttpExchange): void {
  try {
    respondText(exchange, 500, 'internal server error; see the kubelet log\n')
  } catch {
    exchange.abort()
  }
}

interface Target {
  readonly path: string
  readonly query: URLSearchParams
}

/** Decodes the path once, so that authorization and routing see the same path. */
function parseTarget(target: string): Target | undefined {
  const question = target.indexOf('?')
  const path = question === -1 ? target : target.slice(0, question)
  const query = new URLSearchParams(question === -1 ? '' : target.slice(question + 1))
  try {
    return path.startsWith('/') ? { path: decodeURIComponent(path), query } : undefined
  } catch {
    return undefined
  }
}
