/** Metrics of admission webhooks and policies. */
import type { Histogram, HistogramSeries, MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import { PolicyMetrics } from './admission-policies.ts'
import { alpha, stable } from './family.ts'

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

/** The phase of admission. */
export type AdmissionStep = 'admit' | 'validate'

/** Durations of calls that admitted and of calls that rejected the request. */
export interface StepSeries {
  readonly admitted: HistogramSeries
  readonly rejected: () => HistogramSeries
}

export class AdmissionMetrics {
  readonly policies: PolicyMetrics
  readonly #steps: Histogram
  readonly #controllers: Histogram
  readonly #podSecurity: Readonly<Record<'evaluations' | 'exemptions' | 'errors', ScalarMetric>>
  readonly #duration: Histogram
  readonly #requests: ScalarMetric
  readonly #rejections: ScalarMetric
  readonly #failOpen: ScalarMetric
  readonly #conditionErrors: ScalarMetric
  readonly #conditionExclusions: ScalarMetric
  readonly #conditionDuration: Histogram

  constructor(registry: MetricsRegistry) {
    this.policies = new PolicyMetrics(registry)
    this.#steps = registry.histogram(families.steps)
    this.#controllers = registry.histogram(families.controllers)
    this.#podSecurity = {
      evaluations: registry.counter(families.podSecurityEvaluations),
      exemptions: registry.counter(families.podSecurityExemptions),
      errors: registry.counter(families.podSecurityErrors),
    }
    const counter = (name: string, help: string, labels: readonly string[]): ScalarMetric => {
      return registry.counter(alpha(`apiserver_admission_${name}`, help, labels))
    }
    this.#duration = registry.histogram({
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: 'Admission webhook latency in seconds.',
      labels: [...callLabels, 'rejected'],
      buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
      stability: 'STABLE',
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
      stability: 'ALPHA',
    })
  }

  step(type: AdmissionStep, operation: string): StepSeries {
    return {
      admitted: this.#steps.with(type, operation, 'false'),
      rejected: () => this.#steps.with(type, operation, 'true'),
    }
  }

  controller(name: string, type: AdmissionStep, operation: string): StepSeries {
    return {
      admitted: this.#controllers.with(name, type, operation, 'false'),
      rejected: () => this.#controllers.with(name, type, operation, 'true'),
    }
  }

  recordPodSecurityEvaluation(evaluation: PodSecurityEvaluation): void {
    const { decision, level, version, mode, operation, resource, subresource } = evaluation
    this.#podSecurity.evaluations.with(decision, level, version, mode, operation, resource, subresource).add()
  }

  recordPodSecurityExemption({ operation, resource, subresource }: PodSecurityTarget): void {
    this.#podSecurity.exemptions.with(operation, resource, subresource).add()
  }

  recordPodSecurityError({ operation, resource, subresource }: PodSecurityTarget, isFatal: boolean): void {
    this.#podSecurity.errors.with(String(isFatal), operation, resource, subresource).add()
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

/** Label values of pod security metrics. */
export interface PodSecurityTarget {
  readonly operation: 'create' | 'update'
  readonly resource: 'pod' | 'controller' | 'namespace'
  /** Empty, or `ephemeralcontainers`, `resize`. */
  readonly subresource: string
}

export interface PodSecurityEvaluation extends PodSecurityTarget {
  readonly decision: 'allow' | 'deny'
  readonly level: string
  readonly version: string
  readonly mode: 'enforce' | 'audit' | 'warn'
}

const podSecurityLabels = ['request_operation', 'resource', 'subresource']

const families = {
  steps: {
    ...stable('apiserver_admission_step_admission_duration_seconds', 'Time of each phase of admission.', [
      'type',
      'operation',
      'rejected',
    ]),
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5],
  },
  controllers: {
    ...stable('apiserver_admission_controller_admission_duration_seconds', 'Time of each admission plugin.', [
      'name',
      'type',
      'operation',
      'rejected',
    ]),
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5],
  },
  podSecurityEvaluations: alpha('pod_security_evaluations_total', 'Evaluations of pod security levels.', [
    'decision',
    'policy_level',
    'policy_version',
    'mode',
    ...podSecurityLabels,
  ]),
  podSecurityExemptions: alpha(
    'pod_security_exemptions_total',
    'Requests that are exempt from pod security.',
    podSecurityLabels,
  ),
  podSecurityErrors: alpha('pod_security_errors_total', 'Errors that prevented an evaluation.', [
    'fatal',
    ...podSecurityLabels,
  ]),
} as const

const callLabels = ['name', 'type', 'operation']
const conditionLabels = ['name', 'kind', 'type', 'operation']

/** Webhook status codes from this value on share one label value, so that cardinality stays bounded. */
const codeMax = 600
