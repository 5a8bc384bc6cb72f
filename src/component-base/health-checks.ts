/**
 * The health endpoints of a component, with Kubernetes' response texts, and the SLI metrics of their checks.
 * Responses do not disclose the reason of a failure; it is logged.
 */
import { checkReport, excludedChecks, healthReport, type HealthReport } from '#/api/health-report.ts'
import { HealthCheckMetrics } from '#/base/health-check-metrics.ts'
import { messageOf } from '#/base/message-of.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Log } from '#/platform/platform.ts'

export interface HealthCheck {
  readonly name: string
  /** Returns the reason of a failure. */
  readonly check: () => string | undefined
}

/** The checks of each endpoint that the component has, such as `healthz`; an empty list stands for `ping`. */
export type HealthEndpoints = Readonly<Record<string, readonly HealthCheck[]>>

const ping: HealthCheck = { name: 'ping', check: () => undefined }

export class HealthChecks {
  /** For `/metrics/slis`. */
  readonly slis = new MetricsRegistry()
  readonly #endpoints: ReadonlyMap<string, readonly HealthCheck[]>
  readonly #log: Log
  readonly #metrics = new HealthCheckMetrics(this.slis)

  constructor(endpoints: HealthEndpoints, log: Log) {
    this.#endpoints = new Map(
      Object.entries(endpoints).map(([name, checks]) => [name, checks.length === 0 ? [ping] : checks]),
    )
    this.#log = log
  }

  /** Undefined for paths of no endpoint and unknown checks. */
  answer(path: string, query: URLSearchParams): HealthReport | undefined {
    const [, endpoint = '', name] = /^\/(\w+)(?:\/(.*))?$/.exec(path) ?? []
    const checks = this.#endpoints.get(endpoint)
    if (checks === undefined) return undefined
    if (name === undefined) return this.#all(endpoint, checks, query)
    const check = checks.find(each => each.name === name)
    if (check === undefined) return undefined
    return checkReport(run(check))
  }

  #all(endpoint: string, checks: readonly HealthCheck[], query: URLSearchParams): HealthReport {
    const excluded = excludedChecks(query)
    const results = checks.map(check => {
      const { name } = check
      if (excluded.has(name)) return { name, isPassed: true }
      const failure = run(check)
      const isPassed = failure === undefined
      this.#metrics.observe(endpoint, name, isPassed)
      if (!isPassed) this.#log.warn('Health check failed', { endpoint, check: name, failure })
      return { name, isPassed }
    })
    return healthReport(endpoint, results, query)
  }
}

function run({ check }: HealthCheck): string | undefined {
  try {
    return check()
  } catch (error) {
    return messageOf(error)
  }
}
