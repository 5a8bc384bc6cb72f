/**
 * The HTTP servers of the service proxy, without TLS as upstream: health on port 10256, which load balancers probe,
 * and metrics on port 10249. Both listen on the node's address, since each cluster on a machine has its own, and so
 * that a Prometheus in a pod reaches the metrics.
 */
import { PlainHttpServer, type PlainRequest, type PlainResponse } from '#/platform/plain-http.ts'
import type { Platform } from '#/platform/platform.ts'
import type { HealthReport, ProxyHealth } from './proxy-health.ts'
import type { ProxyMetrics } from './proxy-metrics.ts'

export interface ProxyServerOptions {
  readonly platform: Pick<Platform, 'clock' | 'network' | 'log'>
  readonly host: string
  readonly health: ProxyHealth
  readonly metrics: ProxyMetrics
  /** Shown by `/configz`. */
  readonly configuration: Readonly<Record<string, unknown>>
  /** 10256 and 10249 if absent. */
  readonly ports?: { readonly health: number; readonly metrics: number }
}

const usualPorts = { health: 10_256, metrics: 10_249 }

/** Pause after an address could not be bound, as upstream. */
const retryMs = 5_000

const plainText = 'text/plain; charset=utf-8'

/** Serves until aborted. A port that is in use is tried again and does not stop the proxy. */
export async function runProxyServer(options: ProxyServerOptions, signal: AbortSignal): Promise<void> {
  const { ports = usualPorts, health, metrics } = options
  const ofHealth = ({ path }: PlainRequest): PlainResponse => {
    if (path === '/healthz') return reported(health.healthz(), metrics.healthz)
    if (path === '/livez') return reported(health.livez(), metrics.livez)
    return notFound
  }
  await Promise.all([
    serve(options, { port: ports.health, answer: ofHealth }, signal),
    serve(options, { port: ports.metrics, answer: request => answerMetrics(options, request) }, signal),
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
      return { status: 200, mediaType: plainText, text: 'nftables' }
    case '/configz': {
      const text = JSON.stringify({ 'kubeproxy.config.k8s.io': configuration })
      return { status: 200, mediaType: 'application/json', text }
    }
    default:
      return notFound
  }
}

interface ServedPort {
  readonly port: number
  readonly answer: (request: PlainRequest) => PlainResponse
}

async function serve(
  { platform, host }: ProxyServerOptions,
  { port, answer }: ServedPort,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await using _ = await PlainHttpServer.start({ platform, host, port, answer })
      await aborted(signal)
      return
    } catch (error) {
      platform.log.error('Failed to start the HTTP server of the proxy', { host, port, error })
      await platform.clock.sleep(retryMs, signal).catch(() => undefined)
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (signal.aborted) resolve()
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise
}
