/** The `workqueue_*` metrics of client-go, for all work queues of a process. */
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'
import type { WorkQueueMetrics } from './workqueue.ts'

/** The series that one queue updates. */
export interface WorkQueueSeries {
  readonly adds: ScalarSeries
  readonly retries: ScalarSeries
  readonly queueDurationSeconds: HistogramSeries
  readonly workDurationSeconds: HistogramSeries
}

const buckets = exponentialBuckets(1e-8, 10, 10)

const labels = ['name'] as const

const stability = 'BETA'

export class WorkQueueMetricsProvider {
  readonly #adds: ScalarMetric
  readonly #retries: ScalarMetric
  readonly #queueDuration: Histogram
  readonly #workDuration: Histogram
  /** Current values by name of the queue. */
  readonly #current = new Map<string, () => WorkQueueMetrics>()

  constructor(registry: MetricsRegistry) {
    this.#adds = registry.counter({
      name: 'workqueue_adds_total',
      help: 'Keys added to the queue.',
      labels,
      stability,
    })
    this.#gauge(registry, {
      name: 'workqueue_depth',
      help: 'Keys that wait for a worker.',
      value: ({ depth }) => depth,
    })
    this.#queueDuration = registry.histogram({
      name: 'workqueue_queue_duration_seconds',
      help: 'Time that keys wait for a worker.',
      labels,
      buckets,
      stability,
    })
    this.#workDuration = registry.histogram({
      name: 'workqueue_work_duration_seconds',
      help: 'Time that workers need for a key.',
      labels,
      buckets,
      stability,
    })
    this.#retries = registry.counter({
      name: 'workqueue_retries_total',
      help: 'Keys added with a delay, such as the backoff after a failure.',
      labels,
      stability,
    })
    this.#gauge(registry, {
      name: 'workqueue_unfinished_work_seconds',
      help: 'Sum of the processing times so far of all keys in process; a steady increase shows stuck workers.',
      value: ({ unfinishedWorkMs }) => unfinishedWorkMs / 1_000,
    })
    this.#gauge(registry, {
      name: 'workqueue_longest_running_processor_seconds',
      help: 'Processing time so far of the key that has been in process for the longest time.',
      value: ({ longestRunningProcessorMs }) => longestRunningProcessorMs / 1_000,
    })
  }

  /** A queue with the name of an earlier one takes its place. */
  seriesOf(name: string, current: () => WorkQueueMetrics): WorkQueueSeries {
    this.#current.set(name, current)
    return {
      adds: this.#adds.with(name),
      retries: this.#retries.with(name),
      queueDurationSeconds: this.#queueDuration.with(name),
      workDurationSeconds: this.#workDuration.with(name),
    }
  }

  #gauge(registry: MetricsRegistry, { name, help, value }: QueueGauge): void {
    const read = () => [...this.#current].map(([queue, current]) => [[queue], value(current())] as const)
    registry.callbackMetric({ name, type: 'gauge', help, labels, stability, read })
  }
}

interface QueueGauge {
  readonly name: string
  readonly help: string
  readonly value: (current: WorkQueueMetrics) => number
}
