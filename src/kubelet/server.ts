/**
 * The kubelet's server: logs, commands in containers, ports of pods, and what the node and its pods use. Whoever comes
 * has to prove who it is, and the API server says whether it may; mostly it is the API server itself, on behalf of
 * somebody whom it has asked already. It decides nothing about pods.
 */
import type { Client } from '#/client/client.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { HttpExchange, HttpLimits, HttpServer, HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { KubeletView } from './kubelet-view.ts'
import type { NodeSettings } from './node-settings.ts'
import { answerText } from './server/answers.ts'
import { Authentication } from './server/authentication.ts'
import { Authorization } from './server/authorization.ts'
import { requestAttributes } from './server/request-attributes.ts'
import { findRoute, type ServerRequest } from './server/routes.ts'
import { ServerMetrics } from './server/server-metrics.ts'
import { Stats } from './server/stats.ts'

export interface KubeletServerOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly serveHttp: ServeHttp
  /** As `system:node:NAME`: the API server is asked who somebody is and what he may do. */
  readonly client: Client
  readonly runtime: ContainerRuntime
  readonly node: NodeSettings
  readonly view: KubeletView
  /** The kubelet's own certificate, and who signs those of clients: the cluster's authority. */
  readonly tls: HttpTls
  /** Of this process. */
  readonly usage?: () => ProcessUsage
  readonly limits?: Partial<HttpLimits>
}

export class KubeletServer {
  readonly #options: KubeletServerOptions
  readonly #authentication: Authentication
  readonly #authorization: Authorization
  readonly #stats: Stats
  readonly #metrics: ServerMetrics
  /** Ends what lasts. */
  readonly #stopping = new AbortController()
  #http: HttpServer | undefined

  private constructor(options: KubeletServerOptions) {
    const { platform, client, node, usage } = options
    const { clock } = platform
    this.#options = options
    this.#authentication = new Authentication({ client, clock })
    this.#authorization = new Authorization({ client, clock, nodeName: node.name })
    this.#stats = new Stats(options)
    this.#metrics = new ServerMetrics(usage)
  }

  /** Rejects when the address is taken or the certificate cannot be used. */
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

  /** Of the server, for those who look after it. */
  get connectionCount(): number {
    return this.#http!.connectionCount
  }

  setTls(tls: HttpTls): void {
    this.#http!.setTls(tls)
  }

  /** Ends what lasts, and gives the rest so much time. */
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
      this.#options.platform.log.warn('a request to the kubelet failed', { method, target, error })
      if (!exchange.closed) fail(exchange)
    } finally {
      counted.end()
    }
  }

  async #answer(exchange: HttpExchange): Promise<void> {
    const parsed = parseTarget(exchange.target)
    if (parsed === undefined) return answerText(exchange, 400, 'the path cannot be decoded\n')
    if (!(await this.#admits(exchange, parsed.path))) return
    const route = findRoute(exchange.method, parsed.path)
    if (route === 'not found') return answerText(exchange, 404, '404 page not found\n')
    if (route === 'not allowed') return answerText(exchange, 405, 'Method Not Allowed')
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
    }
    await route.handle(request)
  }

  /** Otherwise it has said no. */
  async #admits(exchange: HttpExchange, path: string): Promise<boolean> {
    const user = await this.#authentication.userOf(exchange).catch((error: unknown) => {
      this.#options.platform.log.warn('the kubelet cannot ask who somebody is', { error })
      return undefined
    })
    if (user === undefined) {
      answerText(exchange, 401, 'Unauthorized')
      return false
    }
    const attributes = requestAttributes(exchange.method, path)
    const { verb, subresources } = attributes
    const what = `user=${user.username}, verb=${verb}, resource=nodes`
    try {
      if (await this.#authorization.isAllowed(user, attributes)) return true
      answerText(exchange, 403, `Forbidden (${what}, subresource(s)=[${subresources.join(' ')}])\n`)
    } catch (error) {
      this.#options.platform.log.warn('the kubelet cannot ask what somebody may do', { error })
      answerText(exchange, 500, `Authorization error (${what}, subresource=${subresources[0]})`)
    }
    return false
  }
}

/** Says that something failed, and to nobody what: or ends an answer that has begun so that this is seen. */
function fail(exchange: HttpExchange): void {
  try {
    answerText(exchange, 500, 'the kubelet failed to answer; its log has the details\n')
  } catch {
    exchange.abort()
  }
}

interface Target {
  readonly path: string
  readonly query: URLSearchParams
}

/** Who decides on a path and who serves it see the same: what it means once it is decoded. */
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
