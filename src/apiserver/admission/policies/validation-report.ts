/** Collects the results of validations and produces rejections, warnings, audit annotations and metrics. */
import { apiError, type ApiError, type StatusReason } from '#/api/errors.ts'
import { errorTypeOf, type EnforcementAction } from '../../metrics/admission-policies.ts'
import { admissionForbidden, type AdmissionAttributes } from '../admission-chain.ts'
import type { PluginContext } from '../plugin-context.ts'
import type { Denial, Validated } from './evaluate-validations.ts'

/** Maximum number of failures in the audit annotation. */
const failuresMax = 50

export interface PolicyReference {
  readonly policy: string
  /** Undefined if the policy itself is misconfigured. */
  readonly binding?: string
}

export interface Enforcement {
  readonly reference: PolicyReference & { readonly binding: string }
  readonly actions: readonly string[]
  /** True with failurePolicy Ignore: evaluation errors count as passed. */
  readonly ignoresErrors: boolean
}

interface Failure {
  readonly message: string
  readonly policy: string
  readonly binding: string
  readonly expressionIndex: number
  readonly validationActions: readonly string[]
}

export class ValidationReport {
  readonly #request: AdmissionAttributes
  readonly #metrics: PluginContext['metrics']
  readonly #failures: Failure[] = []
  /** Distinct values, by policy and key. */
  readonly #annotations = new Map<string, Set<string>>()
  #refusal: ApiError | undefined

  constructor(request: AdmissionAttributes, metrics: PluginContext['metrics']) {
    this.#request = request
    this.#metrics = metrics
  }

  /** Only the first rejection is reported. */
  deny({ policy, binding }: PolicyReference, message: string, reason = 'Invalid'): void {
    if (this.#refusal) return
    const by = binding === undefined ? '' : ` with binding '${binding}'`
    const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`
    const { status } = admissionForbidden(this.#request, text, [{ message: text }])
    this.#refusal = apiError(reason as StatusReason, status.message ?? '', status.details)
  }

  add({ denials, annotations, annotationErrors }: Validated, enforcement: Enforcement): void {
    const { reference, ignoresErrors } = enforcement
    for (const denial of denials) {
      if (denial.reason !== undefined || !ignoresErrors) this.#enforce(denial, enforcement)
      else this.#measure(reference, denial, 'allow')
    }
    for (const [key, value] of annotations) this.#annotate(`${reference.policy}/${key}`, value)
    for (const error of ignoresErrors ? [] : annotationErrors) {
      this.deny(reference, error.message)
      this.#measure(reference, error, 'deny')
    }
  }

  /** Writes the audit annotations. Throws ApiError if the request is rejected. */
  finish(): void {
    const request = this.#request
    for (const [key, values] of this.#annotations) request.addAuditAnnotation(key, [...values].join(', '))
    if (this.#failures.length > 0) {
      const failures = JSON.stringify(this.#failures.slice(0, failuresMax))
      request.addAuditAnnotation('validation.policy.admission.k8s.io/validation_failure', failures)
    }
    if (this.#refusal) throw this.#refusal
  }

  #enforce(denial: Denial, { reference, actions }: Enforcement): void {
    const { message, reason, index: expressionIndex } = denial
    for (const action of actions) {
      if (action === 'Deny') {
        this.deny(reference, message, reason)
        this.#measure(reference, denial, 'deny')
      } else if (action === 'Audit') {
        this.#failures.push({ message, ...reference, expressionIndex, validationActions: actions })
        this.#measure(reference, denial, 'audit')
      } else if (action === 'Warn') {
        const { policy, binding } = reference
        this.#request.warn(
          `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${message}`,
        )
        this.#measure(reference, denial, 'warn')
      }
    }
  }

  #annotate(key: string, value: string): void {
    const values = this.#annotations.get(key)
    if (values) values.add(value)
    else this.#annotations.set(key, new Set([value]))
  }

  #measure(
    { policy, binding }: Enforcement['reference'],
    { message, seconds }: { readonly message: string; readonly seconds: number },
    action: EnforcementAction,
  ): void {
    this.#metrics?.admission.policies.validated(
      { policy, binding, error: errorTypeOf(message), seconds },
      action,
    )
  }
}
