/** Metrics of requests to the store and of what it contains. */
import { formatGroupResource } from '#/api/group-version.ts'
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'
import { alpha, exponentialBuckets, stable } from './family.ts'

export interface StoreOperation {
  readonly operation: string
  readonly group: string
  readonly resource: string
}

export interface StoreSeries {
  readonly total: ScalarSeries
  readonly duration: HistogramSeries
  readonly errors: () => ScalarSeries
}

export interface ObjectCount {
  readonly group: string
  readonly resource: string
  readonly objects: number
  readonly sizeBytes: number
}

/** Encryption or decryption of a value in the store. */
export interface Transformation {
  readonly type: 'from_storage' | 'to_storage'
  /** Prefix of the stored value, such as `k8s:enc:aescbc:v1:`. */
  readonly prefix: string
  readonly resource: string
  readonly status: string
  readonly seconds: number
}

export class StorageMetrics {
  readonly #registry: MetricsRegistry
  readonly #total: ScalarMetric
  readonly #duration: Histogram
  readonly #errors: ScalarMetric
  readonly #transformations: ScalarMetric
  readonly #transformationDuration: Histogram

  constructor(registry: MetricsRegistry) {
    this.#registry = registry
    this.#total = registry.counter(families.total)
    this.#duration = registry.histogram(families.duration)
    this.#errors = registry.counter(families.errors)
    this.#transformations = registry.counter(families.transformations)
    this.#transformationDuration = registry.histogram(families.transformationDuration)
  }

  requests({ operation, group, resource }: StoreOperation): StoreSeries {
    return {
      total: this.#total.with(operation, group, resource),
      duration: this.#duration.with(operation, group, resource),
      errors: () => this.#errors.with(operation, group, resource),
    }
  }

  recordTransformation({ type, prefix, resource, status, seconds }: Transformation): void {
    this.#transformations.with(type, prefix, resource, status).add()
    if (status === 'OK') this.#transformationDuration.with(type, prefix).observe(seconds)
  }

  /** Object counts, read at scrape time. */
  readObjects(count: () => Iterable<ObjectCount>): void {
    const add = (name: string, help: string, read: (each: ObjectCount) => number): void => {
      this.#registry.callbackMetric({
        ...alpha(name, help, ['group', 'resource']),
        type: 'gauge',
        read: () => [...count()].map(each => [[each.group, each.resource], read(each)]),
      })
    }
    add('apiserver_resource_objects', 'Objects in the store.', ({ objects }) => objects)
    add('apiserver_resource_size_estimate_bytes', 'Estimated size of the objects.', each => each.sizeBytes)
    this.#registry.callbackMetric({
      ...stable('apiserver_storage_objects', 'Objects in the store.', ['resource']),
      deprecatedVersion: '1.34.0',
      type: 'gauge',
      read: () => [...count()].map(each => [[formatGroupResource(each)], each.objects]),
    })
  }
}

const storeLabels = ['operation', 'group', 'resource']

const families = {
  total: alpha('etcd_requests_total', 'Requests to the store.', storeLabels),
  duration: {
    ...alpha('etcd_request_duration_seconds', 'Time of requests to the store.', storeLabels),
    buckets: [
      0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
    ],
  },
  errors: alpha('etcd_request_errors_total', 'Failed requests to the store.', storeLabels),
  transformations: alpha(
    'apiserver_storage_transformation_operations_total',
    'Encryptions and decryptions of stored values.',
    ['transformation_type', 'transformer_prefix', 'resource', 'status'],
  ),
  transformationDuration: {
    ...alpha('apiserver_storage_transformation_duration_seconds', 'Time of encryptions and decryptions.', [
      'transformation_type',
      'transformer_prefix',
    ]),
    buckets: exponentialBuckets(5e-6, 2, 25),
  },
} as const
