/**
 * The kubelet's HTTPS server: container logs, exec, attach, port-forward, metrics and stats. Clients are
 * authenticated, and the API server authorizes them; the main client is the API server itself, on behalf of
 * users that it has authorized. It does not change pods.
 */
import type { UserInfo } from '#/api/transport.ts'
import { KeyedLimits } from '#/base/keyed-limits.ts'
import type { Client } from '#/client/client.ts'
import type { PassLog } from '#/client/pass-log.ts'
import { DelegatedAuthentication } from '#/component-base/delegated-authentication.ts'
import { DelegatedAuthorization } from '#/component-base/delegated-authorization.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { HttpExchange, HttpLimits, HttpServer, HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { KubeletMetrics } from './kubelet-metrics.ts'
import type { KubeletView } from './kubelet-view.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { measuredRuntime } from './measured-runtime.ts'
import { respondText } from './server/responses.ts'
import { sessionLimits } from './server/commands.ts'
import { logLimits, runtimeLogs, type ContainerLogs } from './server/show-container-log.ts'
import { Cadvisor } from './server/cadvisor.ts'
import { parseTarget } from './server/parse-target.ts'
import { requestAttributes, type RequestAttributes } from './server/request-attributes.ts'
import { findRoute, type ServerRequest } from './server/routes.ts'
import { StatsProvider } from './server/stats.ts'
import { VolumeStats } from './server/volume-stats.ts'

export interface KubeletServerOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly serveHttp: ServeHttp
  /** Authenticated as `system:node:NAME`; used for TokenReview and SubjectAccessReview. */
  readonly client: Client
  readonly runtime: ContainerRuntime
  readonly node: KubeletConfiguration
  readonly view: KubeletView
  /** Of the kubelet; the server adds its own. */
  readonly metrics: KubeletMetrics
  /** Image of sandboxes, a label of their metrics. */
  readonly sandboxImage?: string
  /** Version of the kubelet, such as `v1.36.4+k8ts.0.1.0`. */
  readonly version?: string
  /** Serving certificate, and the cluster's CA for client certificates. */
  readonly tls: HttpTls
  /** Usage of this process. */
  readonly usage?: () => ProcessUsage
  readonly limits?: Partial<HttpLimits>
  /** Passes of the other components of the node in this process. */
  readonly passes?: Pick<PassLog, 'list'> | undefined
}

export class KubeletServer {
  readonly #options: KubeletServerOptions
  readonly #authentication: DelegatedAuthentication
  readonly #authorization: DelegatedAuthorization
  readonly #runtime: ContainerRuntime
  readonly #containerLogs: ContainerLogs
  readonly #stats: StatsProvider
  readonly #cadvisor: Cadvisor
  readonly #volumeStats: VolumeStats
  readonly #sessionLimits = new KeyedLimits(sessionLimits)
  readonly #logLimits = new KeyedLimits(logLimits)
  /** Aborts long-running requests. */
  readonly #stopping = new AbortController()
  #http: HttpServer | undefined

  private constructor(options: KubeletServerOptions) {
    const { platform, linux, client, usage, metrics, sandboxImage = '', version = '' } = options
    const { clock, files } = platform
    this.#options = options
    const { tokenMs, allowedMs: allowedTtlMs, deniedMs: deniedTtlMs } = options.node.webhookCache
    this.#authentication = new DelegatedAuthentication({ client, clock, cacheTtlMs: tokenMs })
    this.#authorization = new DelegatedAuthorization({ client, clock, allowedTtlMs, deniedTtlMs })
    this.#runtime = measuredRuntime(options.runtime, metrics, clock)
    this.#containerLogs = runtimeLogs(this.#runtime, { files, linuxFiles: linux.files })
    this.#stats = new StatsProvider({ ...options, runtime: this.#runtime })
    this.#cadvisor = new Cadvisor({ ...options, sandboxImage, version })
    this.#volumeStats = new VolumeStats(options)
    if (usage !== undefined) addProcessMetrics(metrics.registry, usage)
  }

  /** Rejects if the address is in use or the certificate is invalid. */
  static async start(options: KubeletServerOptions): Promise<KubeletServer> {
    const server = new KubeletServer(options)
    const { serveHttp, node, tls, limits } = options
    server.#http = await serveHttp({
      host: node.serverAddress ?? node.addresses[0] ?? '127.0.0.1',
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
    using _ = this.#options.metrics.http.begin(exchange, this.#options.platform.clock)
    try {
      await this.#answer(exchange)
    } catch (error) {
      const { method, target } = exchange
      this.#options.platform.log.warn('Failed to serve request', { method, target, error })
      if (!exchange.closed) fail(exchange)
    }
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    const parsed = parseTarget(exchange.target)
    if (parsed === undefined) return respondText(exchange, 400, 'invalid URL path\n')
    if (!(await this.#admits(exchange, parsed.path))) return
    const route = findRoute(exchange.method, parsed.path)
    if (route === 'not found') return respondText(exchange, 404, '404 page not found\n')
    if (route === 'not allowed') return respondText(exchange, 405, 'Method Not Allowed')
    const { platform, linux, node, view, metrics, passes } = this.#options
    const { signal } = this.#stopping
    const request: ServerRequest = {
      platform,
      linux,
      runtime: this.#runtime,
      node,
      view,
      metrics,
      passes,
      signal,
      exchange,
      query: parsed.query,
      parameters: route.parameters,
      containerLogs: this.#containerLogs,
      stats: this.#stats,
      cadvisor: this.#cadvisor,
      volumeStats: this.#volumeStats,
      sessionLimits: this.#sessionLimits,
      logLimits: this.#logLimits,
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
      if (await this.#isAllowed(user, attributes)) return true
      respondText(exchange, 403, `Forbidden (${what}, subresource(s)=[${subresources.join(' ')}])\n`)
    } catch (error) {
      this.#options.platform.log.warn('Authorization error', { error })
      respondText(exchange, 500, `Authorization error (${what}, subresource=${subresources[0]})`)
    }
    return false
  }

  /** Rejects if the API server is unavailable. */
  async #isAllowed(user: UserInfo, { verb, subresources }: RequestAttributes): Promise<boolean> {
    const { name } = this.#options.node
    for (const subresource of subresources) {
      const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name }
      if (await this.#authorization.isAllowed(user, { resourceAttributes })) return true
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
