/** Metrics of admission policies: checks and evaluation latency. */
import type { Histogram, HistogramSeries, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import { beta, commonBuckets } from './family.ts'

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

  /** Compilation and evaluation of CEL expressions. */
  readonly celCompilation: HistogramSeries
  readonly celEvaluation: HistogramSeries

  constructor(registry: MetricsRegistry) {
    const cel = (name: string, help: string): HistogramSeries =>
      registry.histogram({ ...beta(`apiserver_cel_${name}`, help), buckets: commonBuckets }).with()
    this.celCompilation = cel('compilation_duration_seconds', 'Time to compile the expressions of a policy.')
    this.celEvaluation = cel('evaluation_duration_seconds', 'Time to evaluate an expression of a policy.')
    this.#validations = new CheckMetrics(registry, 'validating', ['enforcement_action'])
    this.#mutations = new CheckMetrics(registry, 'mutating', [])
  }

  validated(check: PolicyCheck, action: EnforcementAction): void {
    this.celEvaluation.observe(check.seconds)
    this.#validations.observe(check, action)
  }

  mutated(check: PolicyCheck): void {
    this.celEvaluation.observe(check.seconds)
    this.#mutations.observe(check)
  }
}

class CheckMetrics {
  readonly #total: ScalarMetric
  readonly #duration: Histogram

  constructor(registry: MetricsRegistry, type: 'mutating' | 'validating', more: readonly string[]) {
    const labels = ['policy', 'policy_binding', 'error_type', ...more]
    const prefix = `apiserver_${type}_admission_policy_check`
    const stability = type === 'validating' ? 'BETA' : 'ALPHA'
    this.#total = registry.counter({
      name: `${prefix}_total`,
      help: 'Admission policy checks.',
      labels,
      stability,
    })
    this.#duration = registry.histogram({
      name: `${prefix}_duration_seconds`,
      help: 'Admission policy evaluation latency in seconds.',
      labels,
      stability,
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
