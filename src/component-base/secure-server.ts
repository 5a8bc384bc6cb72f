/**
 * The HTTPS server of a control plane component: metrics, health checks and configuration. Clients are
 * authenticated by certificate or token, and the API server authorizes them for the path, so that a monitoring
 * system needs a role with `nonResourceURLs`. The health endpoints are open to everyone.
 */
import { ApiError, forbidden, internalError, unauthorized } from '#/api/errors.ts'
import type { UserInfo } from '#/api/transport.ts'
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import type { HttpExchange, HttpServer, HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Platform } from '#/platform/platform.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import { DelegatedAuthentication } from './delegated-authentication.ts'
import { DelegatedAuthorization } from './delegated-authorization.ts'
import { HealthChecks, type HealthEndpoints } from './health-checks.ts'

export interface SecureServerOptions {
  readonly platform: Platform
  readonly serveHttp: ServeHttp
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** Serving certificate, and the CA of client certificates. */
  readonly tls: HttpTls
  /** May create TokenReviews, as with the ClusterRole `system:auth-delegator`. Without it tokens are ignored. */
  readonly authenticationClient: Client | undefined
  /** May create SubjectAccessReviews. Without it only the health endpoints and administrators are allowed. */
  readonly authorizationClient: Client | undefined
  /** Served at `/metrics`. */
  readonly metrics: MetricsRegistry
  /** Further registries by path, such as `/metrics/resources`. */
  readonly moreMetrics?: Readonly<Record<string, MetricsRegistry>>
  /** Usage of this process. */
  readonly usage: () => ProcessUsage
  readonly health: HealthEndpoints
  /** Served at `/configz`, by name of the configuration. */
  readonly configz?: () => Readonly<Record<string, unknown>>
}

/** Cache TTLs of TokenReviews and SubjectAccessReviews, as upstream. */
const cacheTtlMs = 10_000

const alwaysAllowPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])
const alwaysAllowGroup = 'system:masters'

const anonymous: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] }

export class SecureServer {
  readonly #options: SecureServerOptions
  readonly #authentication: DelegatedAuthentication
  readonly #authorization: DelegatedAuthorization
  readonly #health: HealthChecks
  readonly #registries: ReadonlyMap<string, MetricsRegistry>
  #http: HttpServer | undefined

  private constructor(options: SecureServerOptions) {
    const { platform, metrics, moreMetrics = {}, usage, health } = options
    const { authenticationClient, authorizationClient } = options
    const { clock, log } = platform
    this.#options = options
    this.#authentication = new DelegatedAuthentication({
      client: authenticationClient,
      clock,
      cacheTtlMs,
      anonymous,
    })
    this.#authorization = new DelegatedAuthorization({
      client: authorizationClient,
      clock,
      allowedTtlMs: cacheTtlMs,
      deniedTtlMs: cacheTtlMs,
    })
    this.#health = new HealthChecks(health, log)
    addProcessMetrics(metrics, usage)
    const { slis } = this.#health
    slis.callbackMetric({
      name: 'process_start_time_seconds',
      help: 'Start of the process, in Unix time.',
      type: 'gauge',
      read: () => [[[], usage().startedMs / 1_000]],
    })
    this.#registries = new Map([
      ['/metrics', metrics],
      ['/metrics/slis', slis],
      ...Object.entries(moreMetrics),
    ])
  }

  /** Rejects if the address is in use or the certificate is invalid. */
  static async start(options: SecureServerOptions): Promise<SecureServer> {
    const server = new SecureServer(options)
    const { serveHttp, host, port, tls } = options
    const onExchange = (exchange: HttpExchange): void => void server.#serve(exchange)
    server.#http = await serveHttp({ host, port, tls, onExchange })
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
    try {
      send(exchange, await this.#respond(exchange))
    } catch (error) {
      const { method, target } = exchange
      if (error instanceof ApiError && !exchange.closed) return send(exchange, statusOf(error))
      this.#options.platform.log.warn('Failed to serve request', { method, target, error })
      exchange.abort()
    }
  }

  async #respond(exchange: HttpExchange): Promise<Response> {
    const { path, query } = parseTarget(exchange.target)
    await this.#admit(exchange, path)
    const registry = this.#registries.get(path)
    if (registry !== undefined) return { status: 200, ...registry.expose(exchange.headers['accept']) }
    const { configz } = this.#options
    if (path === '/configz' && configz !== undefined)
      return { status: 200, mediaType: 'application/json', text: JSON.stringify(configz()) }
    const response = this.#health.answer(path, query) ?? { status: 404, text: '404 page not found\n' }
    return { mediaType: plainText, ...response }
  }

  /** Authenticates and authorizes the request; throws ApiError. */
  async #admit(exchange: HttpExchange, path: string): Promise<void> {
    const { log } = this.#options.platform
    const user = await this.#authentication.userOf(exchange).catch((error: unknown) => {
      log.warn('Unable to authenticate the request due to an error', { error })
      return undefined
    })
    if (user === undefined) throw unauthorized()
    if (user !== anonymous) exchange.connection.authenticated()
    if (alwaysAllowPaths.has(path) || user.groups.includes(alwaysAllowGroup)) return
    const verb = exchange.method.toLowerCase()
    const isAllowed = await this.#authorization
      .isAllowed(user, { nonResourceAttributes: { path, verb } })
      .catch((error: unknown) => {
        throw internalError('Internal Server Error', error)
      })
    if (isAllowed) return
    throw forbidden({ group: '', kind: '' }, `User "${user.username}" cannot ${verb} path "${path}"`)
  }
}

const plainText = 'text/plain; charset=utf-8'

interface Response {
  readonly status: number
  readonly mediaType: string
  readonly text: string
}

function statusOf(error: ApiError): Response {
  return { status: error.code, mediaType: 'application/json', text: JSON.stringify(error.status) }
}

function send(exchange: HttpExchange, { status, mediaType, text }: Response): void {
  const bytes = Buffer.from(text)
  exchange.respond(status, {
    'content-type': mediaType,
    'content-length': String(bytes.length),
    'x-content-type-options': 'nosniff',
  })
  exchange.end(exchange.method === 'HEAD' ? [] : [bytes])
}

function parseTarget(target: string): { readonly path: string; readonly query: URLSearchParams } {
  const [path = '', query = ''] = target.split('?', 2)
  return { path, query: new URLSearchParams(query) }
}
