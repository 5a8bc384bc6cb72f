/** Metrics of the store itself, under etcd's names where etcd has them. */
import type { HistogramSeries, MetricsRegistry } from '#/base/metrics.ts'
import type { StoreAlarms } from '#/store/store.ts'
import { alpha, stable } from './family.ts'
import { alarmReasons } from '../store-alarms.ts'

/** Size of the store, and its limit; 0 for none. */
export interface StoreSpace {
  readonly usedBytes: number
  readonly quotaBytes: number
}

export class StoreMetrics {
  readonly #registry: MetricsRegistry
  #syncDuration: HistogramSeries | undefined

  constructor(registry: MetricsRegistry) {
    this.#registry = registry
  }

  /** Records the duration of a sync of the embedded store. */
  readonly observeSync = (seconds: number): void => {
    this.#syncDuration ??= this.#registry
      .histogram({
        name: 'etcd_disk_wal_fsync_duration_seconds',
        help: 'The latency distributions of fsync called by WAL.',
        buckets: syncBuckets,
      })
      .with()
    this.#syncDuration.observe(seconds)
  }

  /** Read at scrape time. */
  readSpace(space: StoreSpace): void {
    this.#registry.callbackMetric({
      ...stable('apiserver_storage_size_bytes', 'Size of the database of the store.', ['storage_cluster_id']),
      type: 'gauge',
      read: () => [[[storeId], space.usedBytes]],
    })
    this.#registry.callbackMetric({
      ...alpha('apiserver_storage_db_total_size_in_bytes', 'Size of the database of the store.', [
        'endpoint',
      ]),
      deprecatedVersion: '1.28.0',
      type: 'gauge',
      read: () => [[[storeId], space.usedBytes]],
    })
    const gauge = (name: string, help: string, read: (space: StoreSpace) => number): void => {
      this.#registry.callbackMetric({ name, help, type: 'gauge', read: () => [[[], read(space)]] })
    }
    gauge(
      'etcd_server_quota_backend_bytes',
      'Current backend storage quota size in bytes.',
      ({ quotaBytes }) => quotaBytes,
    )
    gauge(
      'etcd_mvcc_db_total_size_in_use_in_bytes',
      'Total size of the underlying database logically in use in bytes.',
      ({ usedBytes }) => usedBytes,
    )
  }

  /** Read at scrape time. */
  readAlarms(alarms: StoreAlarms): void {
    this.#registry.callbackMetric({
      name: 'k8ts_store_alarm',
      help: 'Alarms of the store: 1 while the alarm is raised.',
      type: 'gauge',
      labels: ['type'],
      read: () => {
        const raised = new Set<string>(alarms.current.map(({ type }) => type))
        return Object.keys(alarmReasons).map(type => [[type], raised.has(type) ? 1 : 0])
      },
    })
  }
}

/** The name of the first store, as upstream numbers them. */
const storeId = 'etcd-0'

/** etcd's histogram buckets: from a millisecond, each the double of the one before. */
const syncBuckets: readonly number[] = Array.from({ length: 14 }, (_, power) => 0.001 * 2 ** power)
