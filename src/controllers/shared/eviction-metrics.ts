import type { HistogramSeries, MetricsRegistry, ScalarSeries } from '#/base/metrics.ts'

/** Pods deleted by a controller because of taints. */
export interface EvictionMetrics {
  readonly podDeletions: ScalarSeries
  /** Time from when the pod was due. */
  readonly podDeletionSeconds: HistogramSeries
}

export function evictionMetrics(
  registry: MetricsRegistry,
  subsystem: 'taint_eviction_controller' | 'device_taint_eviction_controller',
): EvictionMetrics {
  const stability = 'ALPHA'
  return {
    podDeletions: registry
      .counter({
        name: `${subsystem}_pod_deletions_total`,
        help: 'Pods deleted because of taints.',
        stability,
      })
      .with(),
    podDeletionSeconds: registry
      .histogram({
        name: `${subsystem}_pod_deletion_duration_seconds`,
        help: 'Time from when a pod is to be deleted until it has been deleted.',
        buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
        stability,
      })
      .with(),
  }
}
