/** Metrics of the history of objects. */
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { HistoryStatus } from '#/history/history-log.ts'

export class HistoryMetrics {
  readonly #registry: MetricsRegistry

  constructor(registry: MetricsRegistry) {
    this.#registry = registry
  }

  /** Read at scrape time. */
  readStatus(read: () => HistoryStatus): void {
    this.#register('gauge', 'k8ts_history_size_bytes', {
      help: 'Size of the history of objects, compressed.',
      read: () => read().sizeBytes,
    })
    this.#register('gauge', 'k8ts_history_oldest_timestamp_seconds', {
      help: 'Time since which the history of objects is complete, in seconds since 1970.',
      read: () => {
        const since = read().retainedSince
        return since && since.timeMs / 1_000
      },
    })
    this.#register('gauge', 'k8ts_history_damaged_segments', {
      help: 'Segments of the history of objects that cannot be read.',
      read: () => read().damagedSegments,
    })
    this.#register('counter', 'k8ts_history_write_failures_total', {
      help: 'Failed writes of the history of objects, which are retried.',
      read: () => read().writeFailures,
    })
    this.#register('counter', 'k8ts_history_lost_records_total', {
      help: 'Versions of objects that are missing in the history because they could not be written.',
      read: () => read().lostRecords,
    })
  }

  #register(
    type: 'gauge' | 'counter',
    name: string,
    { help, read }: { readonly help: string; readonly read: () => number | undefined },
  ): void {
    this.#registry.callbackMetric({
      name,
      help,
      type,
      read: () => {
        const value = read()
        return value === undefined ? [] : [[[], value]]
      },
    })
  }
}
