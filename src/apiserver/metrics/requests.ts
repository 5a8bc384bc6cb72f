/** Metrics of requests: their number, duration and size, by verb and resource. */
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'

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
  readonly labels: RequestLabels
  readonly codes: Map<number, ScalarSeries>
  readonly duration: HistogramSeries
  /** Undefined for dry runs. */
  readonly sli: HistogramSeries | undefined
  /** Undefined for requests other than GET and LIST. */
  readonly sizes: HistogramSeries | undefined
  /** Of long-running requests. */
  readonly running: ScalarSeries | undefined
}

export interface ResponseFigures {
  readonly code: number
  readonly seconds: number
  /** Time spent in webhooks and in the queues of priority and fairness, which the SLI excludes. */
  readonly excludedSeconds: number
}

export type PostTimeoutStatus = 'ok' | 'error'

/** The stages of the pipeline whose latency is measured. */
export type FilterName =
  | 'audit'
  | 'authentication'
  | 'authorization'
  | 'impersonation'
  | 'priorityandfairness'

type RequestKind = 'mutating' | 'readOnly'

export class RequestMetrics {
  /** Requests that are not long-running. */
  readonly inFlight: Readonly<Record<RequestKind, RecentMax>>
  readonly inQueue: Readonly<Record<RequestKind, RecentMax>>
  readonly #total: ScalarMetric
  readonly #duration: Histogram
  readonly #sli: Histogram
  readonly #sizes: Histogram
  readonly #bodySizes: Histogram
  readonly #running: ScalarMetric
  readonly #terminations: ScalarMetric
  readonly #aborts: ScalarMetric
  readonly #selfRequests: ScalarMetric
  readonly #deprecated: ScalarMetric
  readonly #fieldValidation: Histogram
  readonly #postTimeout: ScalarMetric
  readonly #filters: Histogram
  readonly #comparison: Histogram

  constructor(registry: MetricsRegistry, nowMs: () => number) {
    this.#total = registry.counter(families.total)
    this.#duration = registry.histogram(families.duration)
    this.#sli = registry.histogram(families.sli)
    this.#sizes = registry.histogram(families.sizes)
    this.#bodySizes = registry.histogram(families.bodySizes)
    this.#running = registry.gauge(families.running)
    this.#terminations = registry.counter(families.terminations)
    this.#aborts = registry.counter(families.aborts)
    this.#selfRequests = registry.counter(families.selfRequests)
    this.#deprecated = registry.gauge(families.deprecated)
    this.#fieldValidation = registry.histogram(families.fieldValidation)
    this.#postTimeout = registry.counter(families.postTimeout)
    this.#filters = registry.histogram(families.filters)
    this.#comparison = registry.histogram(families.comparison)
    this.inFlight = { mutating: new RecentMax(nowMs), readOnly: new RecentMax(nowMs) }
    this.inQueue = { mutating: new RecentMax(nowMs), readOnly: new RecentMax(nowMs) }
    const perKind = (name: string, help: string, kinds: typeof this.inFlight): void => {
      registry.callbackMetric({
        name,
        help,
        type: 'gauge',
        labels: ['request_kind'],
        stability: name.includes('inflight') ? 'STABLE' : 'ALPHA',
        read: () => Object.entries(kinds).map(([kind, recent]) => [[kind], recent.max()]),
      })
    }
    perKind('apiserver_current_inflight_requests', 'Most running requests in the last second.', this.inFlight)
    perKind('apiserver_current_inqueue_requests', 'Most queued requests in the last second.', this.inQueue)
  }

  series(labels: RequestLabels): RequestSeries {
    const { verb, dryRun } = labels
    const values = valuesOf(labels)
    return {
      labels,
      codes: new Map(),
      duration: this.#duration.with(...values, dryRun),
      sli: dryRun === '' ? this.#sli.with(...values) : undefined,
      sizes: verb === 'GET' || verb === 'LIST' ? this.#sizes.with(...values) : undefined,
      running: isLongRunning(verb) ? this.#running.with(...values) : undefined,
    }
  }

  recordResponse(series: RequestSeries, { code, seconds, excludedSeconds }: ResponseFigures): void {
    series.duration.observe(seconds)
    series.sli?.observe(seconds - excludedSeconds)
    let count = series.codes.get(code)
    if (count === undefined) {
      count = this.#total.with(...valuesOf(series.labels), series.labels.dryRun, String(code))
      series.codes.set(code, count)
    }
    count.add()
  }

  recordTermination({ labels }: RequestSeries, code: number): void {
    this.#terminations.with(...valuesOf(labels), String(code)).add()
  }

  recordAbort({ labels }: RequestSeries): void {
    const { verb, group, version, resource, subresource, scope } = labels
    this.#aborts.with(verb, group, version, resource, subresource, scope).add()
  }

  recordSelfRequest({ labels: { verb, group, resource, subresource } }: RequestSeries): void {
    this.#selfRequests.with(verb, group, resource, subresource).add()
  }

  /** `removedRelease` is empty if it is not known. */
  recordDeprecated({ group, version, resource, subresource }: RequestLabels, removedRelease: string): void {
    this.#deprecated.with(group, version, resource, subresource, removedRelease).value = 1
  }

  fieldValidation(parameter: string): HistogramSeries {
    return this.#fieldValidation.with(parameter)
  }

  bodySizes(group: string, resource: string, verb: string): HistogramSeries {
    return this.#bodySizes.with(group, resource, verb)
  }

  recordPostTimeout(status: PostTimeoutStatus): void {
    this.#postTimeout.with('timeout-handler', status).add()
  }

  filter(name: FilterName): HistogramSeries {
    return this.#filters.with(name)
  }

  recordComparison(codePath: 'equal_objects' | 'unequal_objects_fast', seconds: number): void {
    this.#comparison.with(codePath).observe(seconds)
  }
}

/** A number that changes often, and its maximum in the last second. */
export class RecentMax {
  value = 0
  readonly #nowMs: () => number
  #second = 0
  /** Maximum in `#second`, and in the second before. */
  #max = 0
  #previous = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  add(amount: number, nowMs: number): void {
    this.#advance(nowMs)
    this.value += amount
    if (this.value > this.#max) this.#max = this.value
  }

  max(): number {
    this.#advance(this.#nowMs())
    return Math.max(this.#max, this.#previous)
  }

  #advance(nowMs: number): void {
    const second = Math.floor(nowMs / 1_000)
    if (second === this.#second) return
    this.#previous = second === this.#second + 1 ? this.#max : this.value
    this.#max = this.value
    this.#second = second
  }
}

/** The component is empty for paths that are not resources. */
function valuesOf({ verb, group, version, resource, subresource, scope }: RequestLabels): readonly string[] {
  return [verb, group, version, resource, subresource, scope, resource === '' ? '' : 'apiserver']
}

export function isLongRunning(verb: string): boolean {
  return verb === 'WATCH' || verb === 'CONNECT'
}

const resourceLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope']
const requestLabels = [...resourceLabels, 'component']

/** Kubernetes' histogram buckets, which dashboards rely on. */
const latencyBuckets: readonly number[] = [
  0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

const families = {
  total: {
    name: 'apiserver_request_total',
    help: 'Requests by verb, resource, dry run and response code.',
    labels: [...requestLabels, 'dry_run', 'code'],
    stability: 'STABLE',
  },
  duration: {
    name: 'apiserver_request_duration_seconds',
    help: 'Time until a request was answered.',
    labels: [...requestLabels, 'dry_run'],
    buckets: [0.005, 0.025, ...latencyBuckets],
    stability: 'STABLE',
  },
  sli: {
    name: 'apiserver_request_sli_duration_seconds',
    help: 'Time until a request was answered, without the time in webhooks and queues.',
    labels: requestLabels,
    buckets: latencyBuckets,
    stability: 'ALPHA',
  },
  sizes: {
    name: 'apiserver_response_sizes',
    help: 'Size of the responses to GET and LIST, in bytes.',
    labels: requestLabels,
    buckets: [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9],
    stability: 'STABLE',
  },
  bodySizes: {
    name: 'apiserver_request_body_size_bytes',
    help: 'Size of request bodies.',
    labels: ['group', 'resource', 'verb'],
    buckets: Array.from({ length: 31 }, (_, index) => 50_000 + 100_000 * index),
    stability: 'ALPHA',
  },
  running: {
    name: 'apiserver_longrunning_requests',
    help: 'Long-running requests in progress.',
    labels: requestLabels,
    stability: 'STABLE',
  },
  terminations: {
    name: 'apiserver_request_terminations_total',
    help: 'Requests that the server ended to protect itself, by a timeout or a limit.',
    labels: [...requestLabels, 'code'],
    stability: 'ALPHA',
  },
  aborts: {
    name: 'apiserver_request_aborts_total',
    help: 'Requests that ended because the client has gone.',
    labels: resourceLabels,
    stability: 'ALPHA',
  },
  selfRequests: {
    name: 'apiserver_selfrequest_total',
    help: 'Requests of the API server to itself.',
    labels: ['verb', 'group', 'resource', 'subresource'],
    stability: 'ALPHA',
  },
  deprecated: {
    name: 'apiserver_requested_deprecated_apis',
    help: 'Deprecated APIs that were requested.',
    labels: ['group', 'version', 'resource', 'subresource', 'removed_release'],
    stability: 'STABLE',
  },
  fieldValidation: {
    name: 'field_validation_request_duration_seconds',
    help: 'Time until a write was answered, by its fieldValidation parameter.',
    labels: ['field_validation'],
    buckets: latencyBuckets,
    stability: 'ALPHA',
  },
  postTimeout: {
    name: 'apiserver_request_post_timeout_total',
    help: 'Requests whose handler ended after their timeout.',
    labels: ['source', 'status'],
    stability: 'ALPHA',
  },
  filters: {
    name: 'apiserver_request_filter_duration_seconds',
    help: 'Time that requests spent in each stage before their handler.',
    labels: ['filter'],
    buckets: [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 10, 15, 30],
    stability: 'ALPHA',
  },
  comparison: {
    name: 'apiserver_request_timestamp_comparison_time',
    help: 'Time to find out whether an update changes more than the timestamps of managed fields, in seconds.',
    labels: ['code_path'],
    buckets: [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5],
    stability: 'ALPHA',
  },
} as const
