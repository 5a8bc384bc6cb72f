/** The `horizontal_pod_autoscaler_controller_*` metrics. */
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import type { Histogram, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'

export interface AutoscalingResult {
  readonly action: 'scale_up' | 'scale_down' | 'none'
  readonly error: 'internal' | 'none'
}

interface Named {
  readonly namespace?: string
  readonly name?: string
}

export class AutoscalingMetrics {
  readonly #reconciliations: ScalarMetric
  readonly #durations: Histogram
  readonly #desired: ScalarMetric

  /** `count` is called at each scrape. */
  constructor(registry: MetricsRegistry, count: () => number) {
    const named = (name: string, help: string, labels: readonly string[]): Naming => {
      return { name: `horizontal_pod_autoscaler_controller_${name}`, help, labels, stability: 'ALPHA' }
    }
    const buckets = exponentialBuckets(0.001, 2, 15)
    const result = ['action', 'error']
    this.#reconciliations = registry.counter(named('reconciliations_total', 'Reconciles.', result))
    this.#durations = registry.histogram({
      ...named('reconciliation_duration_seconds', 'Duration of a reconcile.', result),
      buckets,
    })
    this.#desired = registry.gauge(
      named('desired_replicas', 'Replicas that the autoscaler wants.', ['namespace', 'hpa_name']),
    )
    registry.callbackMetric({
      ...named('num_horizontal_pod_autoscalers', 'HorizontalPodAutoscalers.', []),
      type: 'gauge',
      read: () => [[[], count()]],
    })
  }

  reconciled({ action, error }: AutoscalingResult, durationMs: number): void {
    this.#reconciliations.with(action, error).add()
    this.#durations.with(action, error).observe(durationMs / 1_000)
  }

  desired({ namespace = '', name = '' }: Named, replicas: number): void {
    this.#desired.with(namespace, name).value = replicas
  }

  forget({ namespace = '', name = '' }: Named): void {
    this.#desired.remove(namespace, name)
  }
}

interface Naming {
  readonly name: string
  readonly help: string
  readonly labels: readonly string[]
  readonly stability: 'ALPHA'
}
