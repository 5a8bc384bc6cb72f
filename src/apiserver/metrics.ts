/**
 * The API server's metrics, under Kubernetes' names; docs/metrics.md lists them. `measure` is the pipeline stage that
 * records requests; `measuredStore` records store latency.
 */
import {
  MetricsRegistry,
  type MetricsRegistryOptions,
  type ScalarMetric,
  type ScalarSeries,
} from '#/base/metrics.ts'
import type { HttpRejection } from '#/platform/http.ts'
import type { Clock } from '#/platform/platform.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import { AccessMetrics } from './metrics/access.ts'
import { AdmissionMetrics } from './metrics/admission.ts'
import { alpha } from './metrics/family.ts'
import { FlowControlMetrics } from './metrics/flow-control.ts'
import { HistoryMetrics } from './metrics/history.ts'
import { RequestMetrics } from './metrics/requests.ts'
import { ServerMetrics } from './metrics/server.ts'
import { StorageMetrics } from './metrics/storage.ts'
import { StoreMetrics } from './metrics/store.ts'
import { WatchCacheMetrics } from './metrics/watch-cache.ts'
import type { ApiResponse, PieceBatch } from './request.ts'

export type { ObjectCount } from './metrics/storage.ts'

/** Whether the server of an APIService is available. */
interface Availability {
  readonly name: string
  readonly isAvailable: boolean
}

export interface MetricsOptions extends MetricsRegistryOptions {
  /** Resource usage of the server process. */
  readonly usage?: () => ProcessUsage
  readonly clock?: Pick<Clock, 'monotonicMs'>
}

export class Metrics {
  readonly registry: MetricsRegistry
  readonly access: AccessMetrics
  readonly admission: AdmissionMetrics
  readonly flowControl: FlowControlMetrics
  readonly history: HistoryMetrics
  readonly requests: RequestMetrics
  readonly server: ServerMetrics
  readonly storage: StorageMetrics
  /** Of the store itself. */
  readonly store: StoreMetrics
  readonly watchCache: WatchCacheMetrics
  readonly #handshakeErrors: ScalarSeries
  readonly #rejections: ScalarMetric
  readonly #unavailableApiServices: ScalarMetric

  constructor({ usage, clock, ...registryOptions }: MetricsOptions = {}) {
    const registry = new MetricsRegistry(registryOptions)
    this.registry = registry
    this.access = new AccessMetrics(registry)
    this.admission = new AdmissionMetrics(registry)
    this.flowControl = new FlowControlMetrics(registry)
    this.history = new HistoryMetrics(registry)
    this.requests = new RequestMetrics(registry, () => clock?.monotonicMs() ?? 0)
    this.server = new ServerMetrics(registry)
    this.storage = new StorageMetrics(registry)
    this.store = new StoreMetrics(registry)
    this.watchCache = new WatchCacheMetrics(registry)
    this.#handshakeErrors = registry
      .counter(alpha('apiserver_tls_handshake_errors_total', 'Failed TLS handshakes.'))
      .with()
    this.#rejections = registry.counter({
      name: 'k8ts_http_rejections_total',
      help: 'HTTP connections and requests rejected before handling.',
      labels: ['reason'],
    })
    this.#unavailableApiServices = registry.counter(
      alpha('aggregator_unavailable_apiservice_total', 'APIServices that became unavailable.', [
        'name',
        'reason',
      ]),
    )
    if (usage) addProcessMetrics(registry, usage)
  }

  rejected(reason: HttpRejection): void {
    if (reason === 'tls') this.#handshakeErrors.add()
    this.#rejections.with(reason).add()
  }

  /** Counts an APIService that has become unavailable. */
  apiServiceUnavailable(name: string, reason: string): void {
    this.#unavailableApiServices.with(name, reason).add()
  }

  /** Availability of the APIServices, read at scrape time. */
  readApiServices(read: () => Iterable<Availability>): void {
    this.registry.callbackMetric({
      ...alpha('aggregator_unavailable_apiservice', 'APIServices; 1 if unavailable.', ['name']),
      type: 'gauge',
      read: () => [...read()].map(({ name, isAvailable }) => [[name], isAvailable ? 0 : 1]),
    })
  }

  /** The response of `/metrics`. */
  answer(accept?: string): ApiResponse {
    return expositionResponse(this.registry, accept)
  }
}

/** Sent in batches, so that it is compressed whatever its size. */
export function expositionResponse(registry: MetricsRegistry, accept: string | undefined): ApiResponse {
  const { mediaType, text } = registry.expose(accept)
  const bytes = (): Uint8Array[] => [Buffer.from(text)]
  const batches = async function* (): AsyncGenerator<PieceBatch, void, undefined> {
    const pieces = bytes()
    yield { pieces, sizeBytes: pieces[0]!.length }
  }
  return { status: 200, body: { type: 'value', mediaType, value: text, bytes, batches } }
}
