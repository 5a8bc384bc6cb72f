/**
 * Serves the console: a web page, and the API server of one cluster with the credentials of a kubeconfig, on a
 * loopback port. Everything but the page needs a session, which begins with the one-time token of a link. Until the
 * first request, this is a listening socket: the connection to the cluster and the code of the routes are loaded then.
 */
import type { HttpTransport } from '#/client/http.ts'
import type { HttpExchange, ServeLocalHttp } from '#/platform/http.ts'
import type { Platform } from '#/platform/platform.ts'
import { Sessions } from './server/sessions.ts'

export interface ConsoleOptions {
  readonly platform: Platform
  readonly serve: ServeLocalHttp
  /** 0 selects a free one. */
  readonly port: number
  /** Called for the first request that needs the cluster, and again after it has failed. */
  readonly connect: () => Promise<ConsoleCluster>
  /** Returns the folder of the bundled page; called for each load of the page. */
  readonly preparePage: () => Promise<string>
}

/** A cluster as a user of it. */
export interface ConsoleCluster extends AsyncDisposable {
  readonly transport: Pick<HttpTransport, 'forward' | 'upgrade' | 'request'>
  /** Names in the kubeconfig. */
  readonly user: string
  readonly cluster: string
  /** Of the context. */
  readonly namespace: string
  /** Diagnoses an object, see `k8ts why`. */
  readonly explain: (target: ExplainTarget) => Promise<object>
}

export interface ExplainTarget {
  readonly kind: string
  readonly name: string
  /** Default: that of the context. */
  readonly namespace?: string
}

export interface ConsoleServer extends AsyncDisposable {
  readonly port: number
  /** The address of the page, with a one-time token. */
  newLink(): string
  /** A bearer token for nothing but `POST /session/link`, which makes a one-time token. */
  readonly linkKey: string
}

/** A browser would reach another address than this one only from another machine. */
const host = '127.0.0.1'

/** Rejects if the port is in use. */
export async function serveConsole(options: ConsoleOptions): Promise<ConsoleServer> {
  const { platform, serve } = options
  const sessions = new Sessions(platform)
  let routes: Promise<(exchange: HttpExchange) => void> | undefined
  const loadRoutes = async (): Promise<(exchange: HttpExchange) => void> => {
    const { consoleRoutes } = await import('./server/console-routes.ts')
    return consoleRoutes({ ...options, port, sessions, cluster: () => (cluster ??= connect()) })
  }
  let cluster: Promise<ConsoleCluster> | undefined
  const connect = async (): Promise<ConsoleCluster> => {
    try {
      return await options.connect()
    } catch (error) {
      cluster = undefined
      throw error
    }
  }
  const handle = async (exchange: HttpExchange): Promise<void> => {
    try {
      routes ??= loadRoutes()
      const route = await routes
      route(exchange)
    } catch (error) {
      platform.log.error('Console request failed', { error })
      exchange.abort()
    }
  }
  const server = await serve({ address: { host, port: options.port }, onExchange: each => void handle(each) })
  const port = 'port' in server.address ? server.address.port : 0
  return {
    port,
    linkKey: sessions.linkKey,
    newLink: () => `http://${host}:${port}/#token=${sessions.issueLinkToken()}`,
    async [Symbol.asyncDispose]() {
      sessions.endAll()
      await server[Symbol.asyncDispose]()
      const connected = await cluster?.catch(() => undefined)
      await connected?.[Symbol.asyncDispose]()
    },
  }
}
