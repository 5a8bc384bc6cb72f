/** Metrics of admission webhooks and policies. */
import type { ScalarMetric, Histogram, MetricsRegistry } from '#/base/metrics.ts'
import { PolicyMetrics } from './admission-policies.ts'

/** Value of the type label. */
export type AdmissionType = 'admit' | 'validating'

export interface WebhookCall {
  readonly name: string
  readonly type: AdmissionType
  readonly operation: string
}

/** Value of the error_type label of webhook rejections. */
export type RejectionCause = 'no_error' | 'calling_webhook_error' | 'apiserver_internal_error'

export interface WebhookResult {
  readonly seconds: number
  /** 0 if there is none. */
  readonly code: number
  /** Set if the request was rejected. */
  readonly rejection?: RejectionCause
}

export class AdmissionMetrics {
  readonly policies: PolicyMetrics
  readonly #duration: Histogram
  readonly #requests: ScalarMetric
  readonly #rejections: ScalarMetric
  readonly #failOpen: ScalarMetric
  readonly #conditionErrors: ScalarMetric
  readonly #conditionExclusions: ScalarMetric
  readonly #conditionDuration: Histogram

  constructor(registry: MetricsRegistry) {
    this.policies = new PolicyMetrics(registry)
    const counter = (name: string, help: string, labels: readonly string[]): ScalarMetric => {
      return registry.counter({ name: `apiserver_admission_${name}`, help, labels })
    }
    this.#duration = registry.histogram({
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: 'Admission webhook latency in seconds.',
      labels: [...callLabels, 'rejected'],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
    })
    this.#requests = counter('webhook_request_total', 'Admission webhook requests.', [
      ...callLabels,
      'code',
      'rejected',
    ])
    this.#rejections = counter('webhook_rejection_count', 'Requests rejected by admission webhooks.', [
      ...callLabels,
      'error_type',
      'rejection_code',
    ])
    this.#failOpen = counter('webhook_fail_open_count', 'Admission webhook calls that failed open.', [
      'name',
      'type',
    ])
    this.#conditionErrors = counter(
      'match_condition_evaluation_errors_total',
      'Admission match condition evaluation errors.',
      [...conditionLabels],
    )
    this.#conditionExclusions = counter(
      'match_condition_exclusions_total',
      'Requests excluded by admission match conditions.',
      [...conditionLabels],
    )
    this.#conditionDuration = registry.histogram({
      name: 'apiserver_admission_match_condition_evaluation_seconds',
      help: 'Admission match condition evaluation time in seconds.',
      labels: conditionLabels,
      buckets: [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
    })
  }

  called({ name, type, operation }: WebhookCall, { seconds, code, rejection }: WebhookResult): void {
    const rejected = String(rejection !== undefined)
    const shownCode = String(Math.min(code, codeMax))
    this.#requests.with(name, type, operation, shownCode, rejected).add()
    this.#duration.with(name, type, operation, rejected).observe(seconds)
    if (rejection) this.#rejections.with(name, type, operation, rejection, shownCode).add()
  }

  failedOpen({ name, type }: WebhookCall): void {
    this.#failOpen.with(name, type).add()
  }

  /** Records an evaluation of matchConditions. */
  conditions(of: ConditionsOwner, { seconds, errors, isExcluded }: ConditionsResult): void {
    const labels = [of.name, of.kind, of.type, of.operation]
    this.#conditionDuration.with(...labels).observe(seconds)
    if (errors > 0) this.#conditionErrors.with(...labels).add(errors)
    if (isExcluded) this.#conditionExclusions.with(...labels).add()
  }
}

export interface ConditionsOwner {
  readonly name: string
  readonly kind: 'webhook' | 'policy'
  readonly type: 'admit' | 'validate'
  readonly operation: string
}

export interface ConditionsResult {
  readonly seconds: number
  readonly errors: number
  readonly isExcluded: boolean
}

const callLabels = ['name', 'type', 'operation']
const conditionLabels = ['name', 'kind', 'type', 'operation']

/** Webhook status codes from this value on share one label value, so that cardinality stays bounded. */
const codeMax = 600
