/**
 * The controllers of Ingresses and Gateways and their reverse proxy as a process of its own: `k8ts ingress`.
 */
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import { gatewayController } from '#/gateway/gateway-controller.ts'
import { HttpProxy } from '#/http-proxy/http-proxy.ts'
import { mergeConfigurations } from '#/http-proxy/merge-configurations.ts'
import type { ConfigurationSource } from '#/http-proxy/proxy-configuration.ts'
import { ProxyMetrics } from '#/http-proxy/proxy-metrics.ts'
import { IngressController } from '#/ingress/ingress-controller.ts'
import { selfSignedCertificate } from '#/kubeadm/self-signed-certificate.ts'
import { PlainHttpServer, type PlainRequest, type PlainResponse } from '#/platform/plain-http.ts'
import type { Platform } from '#/platform/platform.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { StreamProtocols } from '#/platform/stream-protocols.ts'

export interface IngressProcessOptions {
  readonly platform: Platform
  readonly protocols: StreamProtocols
  readonly crypto: Crypto
  /** Authenticated as the service account `kube-system/k8ts-ingress`. */
  readonly client: Client
  /** Of the process, with the metrics of its clients. */
  readonly metrics: MetricsRegistry
  /** Address to listen at. */
  readonly address: string
  /** Of the node with this address. */
  readonly nodeName: string | undefined
  readonly httpPort: number
  readonly httpsPort: number
  /** For metrics and health; 0 means none. */
  readonly statusPort: number
  /** Addresses for the status of Ingresses. */
  readonly publishAddresses: readonly string[]
  /** Time for requests to finish after the signal. */
  readonly drainMs: number
  readonly usage: () => ProcessUsage
  readonly writeAccessLog?: ((text: string) => void) | undefined
  readonly onProgress: (text: string) => void
}

/** Runs until aborted, and then lets requests finish. Rejects when a port is taken. */
export async function runIngress(options: IngressProcessOptions, signal: AbortSignal): Promise<void> {
  const { platform, protocols, metrics: registry, writeAccessLog, drainMs } = options
  const metrics = new ProxyMetrics(registry)
  addProcessMetrics(registry, options.usage)
  const access = writeAccessLog && { writeAccessLog }
  await using proxy = new HttpProxy({ platform, protocols, metrics, ...access })
  const ingress = new IngressController({
    ...options,
    host: options.address,
    statusAddresses: options.publishAddresses,
    defaultCertificate: await selfSignedCertificate(options, {
      commonName: 'k8ts ingress default certificate',
      names: ['ingress.local'],
    }),
  })
  const gateways = gatewayController({ ...options, nodeAddress: options.address })
  const sources = [ingress, gateways]
  const state = { isReady: false }
  await using _ = await serveStatus(options, state)
  const stopping = new AbortController()
  const running = Promise.all(sources.map(source => source.run(stopping.signal)))
  try {
    const onApplied = (): void => {
      if (!state.isReady) options.onProgress(`ingress listens at ${describeListeners(options)}`)
      state.isReady = true
    }
    const applying = applyChanges({ proxy, sources, onApplied }, signal)
    await Promise.race([applying, running])
    state.isReady = false
    await proxy.drain(drainMs)
  } finally {
    stopping.abort(new Error('the ingress process stops'))
    await running.catch(() => undefined)
  }
}

interface Applying {
  readonly proxy: HttpProxy
  readonly sources: readonly ConfigurationSource[]
  readonly onApplied: () => void
}

/** Applies each new configuration, one after the other, until aborted. */
async function applyChanges({ proxy, sources, onApplied }: Applying, signal: AbortSignal): Promise<void> {
  let wake: (() => void) | undefined
  let isChanged = true
  const changed = (): void => {
    isChanged = true
    wake?.()
  }
  for (const source of sources) source.onChange(changed)
  signal.addEventListener('abort', changed, { once: true })
  while (!signal.aborted) {
    if (!isChanged) await new Promise<void>(resolve => (wake = resolve))
    isChanged = false
    const configurations = sources.map(source => source.configuration)
    if (signal.aborted || configurations.includes(undefined)) continue
    await proxy.apply(mergeConfigurations(configurations.filter(each => each !== undefined)))
    const failed = proxy.listeners.find(
      ({ failure, id }) => failure !== undefined && id.startsWith('ingress-'),
    )
    if (failed) throw new Error(`cannot listen for ${failed.id}: ${failed.failure}`)
    onApplied()
  }
}

async function serveStatus(
  { platform, address: host, statusPort: port, metrics }: IngressProcessOptions,
  state: { readonly isReady: boolean },
): Promise<AsyncDisposable | undefined> {
  if (port === 0) return undefined
  const mediaType = 'text/plain; charset=utf-8'
  const answer = ({ path, accept }: PlainRequest): PlainResponse => {
    if (path === '/metrics') return { status: 200, ...metrics.expose(accept) }
    if (path === '/healthz') return { status: 200, mediaType, text: 'ok' }
    if (path === '/readyz')
      return { status: state.isReady ? 200 : 503, mediaType, text: state.isReady ? 'ok' : 'not ready' }
    return { status: 404, mediaType, text: '404 page not found\n' }
  }
  try {
    return await PlainHttpServer.start({ platform, host, port, answer })
  } catch (error) {
    platform.log.error('Failed to serve metrics of the ingress', { host, port, error })
    return undefined
  }
}

function describeListeners({ address, httpPort, httpsPort }: IngressProcessOptions): string {
  return `${address} ports ${httpPort} and ${httpsPort}`
}
