/** Results of health checks, as service level indicators: `/metrics/slis` of every component. */
import type { MetricsRegistry, ScalarMetric } from './metrics.ts'

export class HealthCheckMetrics {
  readonly #last: ScalarMetric
  readonly #total: ScalarMetric

  constructor(registry: MetricsRegistry) {
    this.#last = registry.gauge({
      name: 'kubernetes_healthcheck',
      help: 'Last result of a health check: 1 if it passed, 0 if it failed.',
      labels: ['name', 'type'],
      stability: 'STABLE',
    })
    this.#total = registry.counter({
      name: 'kubernetes_healthchecks_total',
      help: 'Results of health checks.',
      labels: ['name', 'type', 'status'],
      stability: 'STABLE',
    })
  }

  /** `endpoint` is `healthz`, `livez` or `readyz`. */
  observe(endpoint: string, name: string, isPassed: boolean): void {
    this.#last.with(name, endpoint).value = isPassed ? 1 : 0
    this.#total.with(name, endpoint, isPassed ? 'success' : 'error').add()
  }
}
