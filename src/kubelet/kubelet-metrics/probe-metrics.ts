import type { Histogram, HistogramSeries, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import { defaultBuckets } from './define-metrics.ts'

/** The container that is probed. */
export interface ProbedContainer {
  readonly container: string
  readonly pod: string
  readonly namespace: string
  readonly podUid: string
}

export type ProbeType = 'Startup' | 'Liveness' | 'Readiness'

/** A probe that cannot be executed has no result. */
export type ProbeResultLabel = 'successful' | 'failed'

/** Metrics of one probe of one container. */
export interface ProbeSeries extends Disposable {
  observe(result: ProbeResultLabel, durationMs: number): void
}

/** Probes have a registry of their own, since they have a series for each container: `/metrics/probes`. */
export class ProbeMetrics {
  readonly #total: ScalarMetric
  readonly #duration: Histogram

  constructor(registry: MetricsRegistry) {
    const labels = ['probe_type', 'container', 'pod', 'namespace']
    this.#total = registry.counter({
      name: 'prober_probe_total',
      help: 'Probes of a container, by result.',
      labels: [...labels, 'pod_uid', 'result'],
      stability: 'BETA',
    })
    this.#duration = registry.histogram({
      name: 'prober_probe_duration_seconds',
      help: 'Time until a probe was answered.',
      labels,
      buckets: defaultBuckets,
      stability: 'ALPHA',
    })
  }

  /** The series disappear when it is disposed. */
  of(type: ProbeType, { container, pod, namespace, podUid }: ProbedContainer): ProbeSeries {
    const labels = [type, container, pod, namespace]
    const results = ['successful', 'failed'] as const
    let duration: HistogramSeries | undefined
    return {
      observe: (result, durationMs) => {
        this.#total.with(...labels, podUid, result).add()
        if (result === 'failed') return
        duration ??= this.#duration.with(...labels)
        duration.observe(durationMs / 1_000)
      },
      [Symbol.dispose]: () => {
        for (const result of results) this.#total.remove(...labels, podUid, result)
        this.#duration.remove(...labels)
      },
    }
  }
}
