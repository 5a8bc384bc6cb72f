/**
 * The API server's metrics, under Kubernetes' names. `measure` is the pipeline stage that records requests;
 * `measuredStore` records store latency.
 */
import { formatGroupResource } from '#/api/group-version.ts'
import {
  MetricsRegistry,
  metricsMediaType,
  type ScalarMetric,
  type ScalarSeries,
  type Histogram,
  type HistogramSeries,
} from '#/base/metrics.ts'
import type { HttpRejection } from '#/platform/http.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import { AdmissionMetrics } from './metrics/admission.ts'
import { StoreMetrics } from './metrics/store.ts'
import type { ApiResponse } from './request.ts'

/** Label values of a request. */
export interface RequestLabels {
  /** E.g. `GET`, `LIST`, `APPLY`. */
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly scope: '' | 'resource' | 'namespace' | 'cluster'
  readonly dryRun: string
}

/** Metric series of a label set, looked up once. */
export interface RequestSeries {
  readonly codes: Map<number, ScalarSeries>
  readonly duration: HistogramSeries
  readonly sizes: HistogramSeries
  readonly running: ScalarSeries
}

export interface ResponseFigures {
  readonly code: number
  readonly seconds: number
}

export interface StoreOperation {
  readonly operation: string
  readonly group: string
  readonly resource: string
}

export interface StoreSeries {
  readonly duration: HistogramSeries
  readonly errors: ScalarSeries
}

export interface ObjectCount {
  readonly group: string
  readonly resource: string
  readonly objects: number
}

/** Whether the server of an APIService is available. */
interface Availability {
  readonly name: string
  readonly isAvailable: boolean
}

export interface MetricsOptions {
  /** Resource usage of the server process. */
  readonly usage?: () => ProcessUsage
}

export class Metrics {
  readonly registry = new MetricsRegistry()
  readonly admission = new AdmissionMetrics(this.registry)
  readonly storage = new StoreMetrics(this.registry)
  readonly #total: ScalarMetric
  readonly #duration: Histogram
  readonly #sizes: Histogram
  readonly #running: ScalarMetric
  readonly #watchEvents: ScalarMetric
  readonly #storeDuration: Histogram
  readonly #storeErrors: ScalarMetric
  readonly #handshakeErrors: ScalarSeries
  readonly #rejections: ScalarMetric
  readonly #unavailableApiServices: ScalarMetric
  readonly #requests = new Map<string, RequestSeries>()
  /** Running requests that are not long-running. */
  readonly inFlight: { readonly mutating: ScalarSeries; readonly readOnly: ScalarSeries }

  constructor({ usage }: MetricsOptions = {}) {
    const { registry } = this
    const counter = (name: string, help: string, labels?: readonly string[]): ScalarMetric => {
      return registry.counter({ name, help, labels })
    }
    const gauge = (name: string, help: string, labels?: readonly string[]): ScalarMetric => {
      return registry.gauge({ name, help, labels })
    }
    this.#total = counter(
      'apiserver_request_total',
      'Counter of apiserver requests by verb, dry run, group, version, resource, scope and response code.',
      [...requestLabels, 'dry_run', 'code'],
    )
    this.#duration = registry.histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Response latency distribution in seconds.',
      labels: [...requestLabels, 'dry_run'],
      buckets: latencyBuckets,
    })
    this.#sizes = registry.histogram({
      name: 'apiserver_response_sizes',
      help: 'Response size distribution in bytes.',
      labels: requestLabels,
      buckets: sizeBuckets,
    })
    this.#running = gauge(
      'apiserver_longrunning_requests',
      'Gauge of all active long-running apiserver requests.',
      requestLabels,
    )
    const inFlight = gauge(
      'apiserver_current_inflight_requests',
      'Number of inflight requests by request kind.',
      ['request_kind'],
    )
    this.inFlight = { mutating: inFlight.with('mutating'), readOnly: inFlight.with('readOnly') }
    this.#watchEvents = counter(
      'apiserver_watch_events_total',
      'Number of events sent to watch clients.',
      resourceLabels,
    )
    this.#storeDuration = registry.histogram({
      name: 'etcd_request_duration_seconds',
      help: 'Store request latency in seconds by operation and object type.',
      labels: storeLabels,
      buckets: latencyBuckets,
    })
    this.#storeErrors = counter(
      'etcd_request_errors_total',
      'Failed store requests by operation and object type.',
      storeLabels,
    )
    const handshakeErrors = counter(
      'apiserver_tls_handshake_errors_total',
      'Number of connections dropped with a TLS handshake error.',
    )
    this.#handshakeErrors = handshakeErrors.with()
    this.#rejections = counter(
      'k8ts_http_rejections_total',
      'HTTP connections and requests rejected before handling.',
      ['reason'],
    )
    this.#unavailableApiServices = counter(
      'aggregator_unavailable_apiservice_total',
      'Counter of APIServices which are marked as unavailable by APIService name and reason.',
      ['name', 'reason'],
    )
    if (usage) addProcess(registry, usage)
  }

  request(labels: RequestLabels): RequestSeries {
    const { verb, group, version, resource, subresource, scope, dryRun } = labels
    const key = `${verb}\0${group}\0${version}\0${resource}\0${subresource}\0${scope}\0${dryRun}`
    const known = this.#requests.get(key)
    if (known !== undefined) return known
    const values = [verb, group, version, resource, subresource, scope, 'apiserver']
    const series: RequestSeries = {
      codes: new Map(),
      duration: this.#duration.with(...values, dryRun),
      sizes: this.#sizes.with(...values),
      running: this.#running.with(...values),
    }
    // Past the bound, label sets are not cached here.
    if (this.#requests.size < requestsMax) this.#requests.set(key, series)
    return series
  }

  /** `series` must belong to `labels`. */
  recordResponse(labels: RequestLabels, series: RequestSeries, { code, seconds }: ResponseFigures): void {
    series.duration.observe(seconds)
    let count = series.codes.get(code)
    if (count === undefined) {
      const { verb, group, version, resource, subresource, scope, dryRun } = labels
      const values = [verb, group, version, resource, subresource, scope, 'apiserver', dryRun, String(code)]
      count = this.#total.with(...values)
      series.codes.set(code, count)
    }
    count.add()
  }

  watchEvents({ group, version, resource }: RequestLabels): ScalarSeries {
    return this.#watchEvents.with(group, version, resource)
  }

  store({ operation, group, resource }: StoreOperation): StoreSeries {
    return {
      duration: this.#storeDuration.with(operation, group, resource),
      errors: this.#storeErrors.with(operation, group, resource),
    }
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
      name: 'aggregator_unavailable_apiservice',
      help: 'Gauge of APIServices which are marked as unavailable by APIService name.',
      type: 'gauge',
      labels: ['name'],
      read: () => [...read()].map(({ name, isAvailable }) => [[name], isAvailable ? 0 : 1]),
    })
  }

  /** Object counts, read at scrape time. */
  readObjects(count: () => Iterable<ObjectCount>): void {
    this.registry.callbackMetric({
      name: 'apiserver_resource_objects',
      help: 'Objects in the store.',
      type: 'gauge',
      labels: ['group', 'resource'],
      read: () => [...count()].map(({ group, resource, objects }) => [[group, resource], objects]),
    })
    // The name before Kubernetes 1.34.
    this.registry.callbackMetric({
      name: 'apiserver_storage_objects',
      help: 'Objects in the store.',
      type: 'gauge',
      labels: ['resource'],
      read: () => [...count()].map(each => [[formatGroupResource(each)], each.objects]),
    })
  }

  /** The response of `/metrics`. */
  answer(): ApiResponse {
    const text = this.registry.render()
    const bytes = (): Uint8Array[] => [Buffer.from(text)]
    return { status: 200, body: { type: 'value', mediaType: metricsMediaType, value: text, bytes } }
  }
}

const requestLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component']
const resourceLabels = ['group', 'version', 'resource']
const storeLabels = ['operation', 'group', 'resource']

/** Maximum number of cached label sets. */
const requestsMax = 10_000

function addProcess(registry: MetricsRegistry, usage: () => ProcessUsage): void {
  const add = (name: string, help: string, read: (usage: ProcessUsage) => number | undefined): void => {
    registry.callbackMetric({
      name,
      help,
      type: name.endsWith('_total') ? 'counter' : 'gauge',
      read: () => {
        const value = read(usage())
        return value === undefined ? [] : [[[], value]]
      },
    })
  }
  add('process_cpu_seconds_total', 'Processor time used.', ({ cpuSeconds }) => cpuSeconds)
  add('process_resident_memory_bytes', 'Memory of the process.', ({ residentBytes }) => residentBytes)
  add('process_start_time_seconds', 'When the process started.', ({ startedMs }) => startedMs / 1_000)
  add('process_open_fds', 'Open files and connections.', ({ openFiles }) => openFiles)
  add('nodejs_heap_size_used_bytes', 'Memory of values of the program.', ({ heapBytes }) => heapBytes)
}

/** Kubernetes' histogram buckets, which dashboards rely on. */
const latencyBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

const sizeBuckets: readonly number[] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
