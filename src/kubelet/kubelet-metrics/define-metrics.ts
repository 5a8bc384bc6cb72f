import type { Histogram, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'

/** Prometheus' default buckets. */
export const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Defines metrics of the stability level that nearly all metrics of the kubelet have. */
export interface DefineMetrics {
  readonly counter: (name: string, help: string, labels?: readonly string[]) => ScalarMetric
  readonly gauge: (name: string, help: string, labels?: readonly string[]) => ScalarMetric
  readonly histogram: (name: string, help: string, options?: HistogramShape) => Histogram
}

interface HistogramShape {
  readonly labels?: readonly string[]
  readonly buckets?: readonly number[]
}

export function defineMetrics(registry: MetricsRegistry): DefineMetrics {
  const stability = 'ALPHA'
  return {
    counter: (name, help, labels = []) => registry.counter({ name, help, labels, stability }),
    gauge: (name, help, labels = []) => registry.gauge({ name, help, labels, stability }),
    histogram: (name, help, { labels = [], buckets = defaultBuckets } = {}) =>
      registry.histogram({ name, help, labels, buckets, stability }),
  }
}
