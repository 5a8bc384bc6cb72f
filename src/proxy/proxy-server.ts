/**
 * The HTTP servers of the service proxy, without TLS as upstream: health on port 10256, which load balancers probe,
 * and metrics on port 10249. Both listen on the node's address unless configured, since each cluster on a machine has
 * its own, and so that a Prometheus in a pod reaches the metrics.
 */
import { untilAborted } from '#/base/abort.ts'
import { PlainHttpServer, type PlainRequest, type PlainResponse } from '#/platform/plain-http.ts'
import type { Platform } from '#/platform/platform.ts'
import type { HealthReport, ProxyHealth } from './proxy-health.ts'
import type { ProxyMetrics } from './proxy-metrics.ts'

export interface ProxyServerOptions {
  readonly platform: Pick<Platform, 'clock' | 'network' | 'log'>
  readonly servers: ProxyServers
  readonly health: ProxyHealth
  readonly metrics: ProxyMetrics
  /** Shown by `/configz`. */
  readonly configuration: () => Readonly<Record<string, unknown>>
}

interface ServedAddress {
  readonly host: string
  readonly port: number
}

/** Undefined for a server that is off. */
export interface ProxyServers {
  readonly health: ServedAddress | undefined
  readonly metrics: ServedAddress | undefined
}

/** Both on one address with the ports of Kubernetes. */
export function proxyServersAt(host: string): ProxyServers {
  return { health: { host, port: 10_256 }, metrics: { host, port: 10_249 } }
}

/** Pause after an address could not be bound, as upstream. */
const retryMs = 5_000

const plainText = 'text/plain; charset=utf-8'

/** Serves until aborted. A port that is in use is tried again and does not stop the proxy. */
export async function runProxyServer(options: ProxyServerOptions, signal: AbortSignal): Promise<void> {
  const { servers, health, metrics } = options
  const ofHealth = ({ path }: PlainRequest): PlainResponse => {
    if (path === '/healthz') return reported(health.healthz(), metrics.healthz)
    if (path === '/livez') return reported(health.livez(), metrics.livez)
    return notFound
  }
  await Promise.all([
    serve(options, { at: servers.health, answer: ofHealth }, signal),
    serve(options, { at: servers.metrics, answer: request => answerMetrics(options, request) }, signal),
  ])
}

const notFound: PlainResponse = { status: 404, mediaType: plainText, text: '404 page not found\n' }

function reported({ isHealthy, text }: HealthReport, answers: ProxyMetrics['healthz']): PlainResponse {
  const status = isHealthy ? 200 : 503
  answers.with(String(status)).add()
  return { status, mediaType: 'application/json', text }
}

function answerMetrics(
  { metrics, configuration }: ProxyServerOptions,
  { path, accept }: PlainRequest,
): PlainResponse {
  switch (path) {
    case '/metrics':
      return { status: 200, ...metrics.registry.expose(accept) }
    case '/healthz':
      return { status: 200, mediaType: plainText, text: 'ok' }
    case '/proxyMode':
      return { status: 200, mediaType: plainText, text: String(configuration()['mode']) }
    case '/configz': {
      const text = JSON.stringify({ 'kubeproxy.config.k8s.io': configuration() })
      return { status: 200, mediaType: 'application/json', text }
    }
    default:
      return notFound
  }
}

interface ProxyEndpoint {
  readonly at: ServedAddress | undefined
  readonly answer: (request: PlainRequest) => PlainResponse
}

async function serve(
  { platform }: ProxyServerOptions,
  { at, answer }: ProxyEndpoint,
  signal: AbortSignal,
): Promise<void> {
  if (at === undefined) return
  const { host, port } = at
  while (!signal.aborted) {
    try {
      await using _ = await PlainHttpServer.start({ platform, host, port, answer })
      await untilAborted(signal)
      return
    } catch (error) {
      platform.log.error('Failed to start the HTTP server of the proxy', { host, port, error })
      await platform.clock.sleep(retryMs, signal).catch(() => undefined)
    }
  }
}
