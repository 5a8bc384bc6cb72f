import type { DefineMetrics } from './define-metrics.ts'

/** Five milliseconds, and 2.5 times as much each. */
const operationBuckets = Array.from({ length: 14 }, (_, index) => 0.005 * 2.5 ** index)

export type RuntimeMetrics = ReturnType<typeof runtimeMetrics>

/** Calls to the container runtime. */
export function runtimeMetrics({ counter, histogram }: DefineMetrics) {
  const labels = ['operation_type']
  return {
    operations: counter('kubelet_runtime_operations_total', 'Calls to the container runtime.', labels),
    errors: counter(
      'kubelet_runtime_operations_errors_total',
      'Failed calls to the container runtime.',
      labels,
    ),
    duration: histogram('kubelet_runtime_operations_duration_seconds', 'Duration of calls to the runtime.', {
      labels,
      buckets: operationBuckets,
    }),
  }
}

export type VolumeMetrics = ReturnType<typeof volumeMetrics>

export function volumeMetrics({ histogram }: DefineMetrics) {
  return {
    operationDuration: histogram(
      'storage_operation_duration_seconds',
      'Duration of an operation on a volume.',
      {
        labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
        buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
      },
    ),
    collectionDuration: histogram(
      'kubelet_volume_metric_collection_duration_seconds',
      'Time to measure the usage of the volumes of a pod.',
      { labels: ['metric_source'] },
    ),
  }
}

const pullBuckets = [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1_200, 1_800, 2_700, 3_600]

export type ImageMetrics = ReturnType<typeof imageMetrics>

export function imageMetrics({ counter, histogram }: DefineMetrics) {
  const sized = { labels: ['image_size_in_bytes'], buckets: pullBuckets }
  return {
    pullDuration: histogram('kubelet_image_pull_duration_seconds', 'Time to pull an image.', sized),
    garbageCollected: counter('kubelet_image_garbage_collected_total', 'Unused images that were removed.', [
      'reason',
    ]),
    ensureRequests: counter(
      'kubelet_image_manager_ensure_image_requests_total',
      'Images requested for containers, and whether they had to be pulled.',
      ['present_locally', 'pull_policy', 'pull_required'],
    ),
  }
}

const mebibyte = 1024 ** 2
const gibibyte = 1024 ** 3

/** The size of larger images, the largest first. */
const sizes: readonly (readonly [moreThanBytes: number, label: string])[] = [
  [100 * gibibyte, 'GT100GB'],
  [60 * gibibyte, '60GB-100GB'],
  [40 * gibibyte, '40GB-60GB'],
  [30 * gibibyte, '30GB-40GB'],
  [20 * gibibyte, '20GB-30GB'],
  [10 * gibibyte, '10GB-20GB'],
  [5 * gibibyte, '5GB-10GB'],
  [gibibyte, '1GB-5GB'],
  [500 * mebibyte, '500MB-1GB'],
  [100 * mebibyte, '100MB-500MB'],
  [10 * mebibyte, '10MB-100MB'],
  [0, '0-10MB'],
]

/** The value of `image_size_in_bytes`. */
export function imageSizeLabel(sizeBytes: number): string {
  return sizes.find(([moreThanBytes]) => sizeBytes > moreThanBytes)?.[1] ?? 'N/A'
}
