/** Metrics of admission policies: checks and evaluation latency. */
import type { ScalarMetric, Histogram, MetricsRegistry } from '#/base/metrics.ts'

export interface PolicyCheck {
  readonly policy: string
  readonly binding: string
  readonly error: PolicyErrorType
  readonly seconds: number
}

export type PolicyErrorType = 'compile_error' | 'invalid_error' | 'no_error' | 'out_of_budget'

/** The action taken on a failed validation. */
export type EnforcementAction = 'allow' | 'audit' | 'deny' | 'warn'

export class PolicyMetrics {
  readonly #validations: CheckMetrics
  readonly #mutations: CheckMetrics

  constructor(registry: MetricsRegistry) {
    this.#validations = new CheckMetrics(registry, 'validating', ['enforcement_action'])
    this.#mutations = new CheckMetrics(registry, 'mutating', [])
  }

  validated(check: PolicyCheck, action: EnforcementAction): void {
    this.#validations.observe(check, action)
  }

  mutated(check: PolicyCheck): void {
    this.#mutations.observe(check)
  }
}

class CheckMetrics {
  readonly #total: ScalarMetric
  readonly #duration: Histogram

  constructor(registry: MetricsRegistry, type: 'mutating' | 'validating', more: readonly string[]) {
    const labels = ['policy', 'policy_binding', 'error_type', ...more]
    const prefix = `apiserver_${type}_admission_policy_check`
    this.#total = registry.counter({
      name: `${prefix}_total`,
      help: 'Admission policy checks.',
      labels,
    })
    this.#duration = registry.histogram({
      name: `${prefix}_duration_seconds`,
      help: 'Admission policy evaluation latency in seconds.',
      labels,
      buckets: [0.000_000_5, 0.001, 0.01, 0.1, 1],
    })
  }

  observe({ policy, binding, error, seconds }: PolicyCheck, ...more: readonly string[]): void {
    const labels = [policy, binding, error, ...more]
    this.#total.with(...labels).add()
    this.#duration.with(...labels).observe(seconds)
  }
}

/** The error_type label for an error message. */
export function errorTypeOf(message: string | undefined): PolicyErrorType {
  if (message === undefined) return 'no_error'
  if (message.startsWith('compilation')) return 'compile_error'
  if (message.startsWith('validation failed due to running out of cost budget')) return 'out_of_budget'
  return 'invalid_error'
}
