/** The `rest_client_*` metrics of client-go, for all clients of a process. */
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'

/** `<error>` if no response arrived. */
export type RestClientCode = number | '<error>'

const durationBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]
const sizeBuckets = [64, 256, 512, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216]

const byVerb = ['verb', 'host'] as const

export class RestClientMetrics {
  readonly #requests: ScalarMetric
  readonly #retries: ScalarMetric
  readonly #duration: Histogram
  readonly #requestSize: Histogram
  readonly #responseSize: Histogram

  constructor(registry: MetricsRegistry) {
    this.#duration = registry.histogram({
      name: 'rest_client_request_duration_seconds',
      help: 'Time until the response headers, including retries, without watches.',
      labels: byVerb,
      stability: 'ALPHA',
      buckets: durationBuckets,
    })
    this.#requestSize = registry.histogram({
      name: 'rest_client_request_size_bytes',
      help: 'Size of request bodies sent over the network.',
      labels: byVerb,
      stability: 'ALPHA',
      buckets: sizeBuckets,
    })
    this.#responseSize = registry.histogram({
      name: 'rest_client_response_size_bytes',
      help: 'Size of response bodies received over the network.',
      labels: byVerb,
      stability: 'ALPHA',
      buckets: sizeBuckets,
    })
    this.#requests = registry.counter({
      name: 'rest_client_requests_total',
      help: 'Requests by status code of the last response.',
      labels: ['code', 'method', 'host'],
      stability: 'ALPHA',
    })
    this.#retries = registry.counter({
      name: 'rest_client_request_retries_total',
      help: 'Retries by status code of the response that caused them.',
      labels: ['code', 'verb', 'host'],
      stability: 'ALPHA',
    })
  }

  /** The series of one server. */
  forHost(host: string): RestClientHostMetrics {
    return new RestClientHostMetrics({
      requests: (code, method) => this.#requests.with(code, method, host),
      retries: (code, method) => this.#retries.with(code, method, host),
      duration: method => this.#duration.with(method, host),
      requestSize: method => this.#requestSize.with(method, host),
      responseSize: method => this.#responseSize.with(method, host),
    })
  }
}

interface HostSeries {
  readonly requests: (code: string, method: string) => ScalarSeries
  readonly retries: (code: string, method: string) => ScalarSeries
  readonly duration: (method: string) => HistogramSeries
  readonly requestSize: (method: string) => HistogramSeries
  readonly responseSize: (method: string) => HistogramSeries
}

/** Keeps the series of each method and code, so that counting needs no label strings. */
export class RestClientHostMetrics {
  readonly #series: HostSeries
  readonly #requests = new Map<string, Map<RestClientCode, ScalarSeries>>()
  readonly #durations = new Map<string, HistogramSeries>()

  constructor(series: HostSeries) {
    this.#series = series
  }

  requested(method: string, code: RestClientCode): void {
    const byCode = this.#requests.getOrInsertComputed(method, () => new Map())
    byCode.getOrInsertComputed(code, () => this.#series.requests(String(code), method)).add()
  }

  retried(method: string, code: RestClientCode): void {
    this.#series.retries(String(code), method).add()
  }

  took(method: string, durationMs: number): void {
    this.#durations
      .getOrInsertComputed(method, () => this.#series.duration(method))
      .observe(durationMs / 1_000)
  }

  sent(method: string, sizeBytes: number): void {
    this.#series.requestSize(method).observe(sizeBytes)
  }

  received(method: string, sizeBytes: number): void {
    this.#series.responseSize(method).observe(sizeBytes)
  }
}
