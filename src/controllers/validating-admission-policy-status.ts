/**
 * Type-checks the expressions of a ValidatingAdmissionPolicy against its matched kinds when it changes, and
 * writes warnings to its status.
 * https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#type-checking
 */
import { isApiError } from '#/api/errors.ts'
import type {
  ExpressionWarning,
  ValidatingAdmissionPolicy,
} from '#/api/generated/admissionregistration/v1.ts'
import { validatingAdmissionPolicies } from '#/api/generated/admissionregistration/v1-resources.ts'
import { compareInt64 } from '#/api/text/int64.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export interface ValidatingAdmissionPolicyStatusSettings {
  /** Warnings by expression. May have to read the schema of a kind. */
  readonly checkTypes: (
    policy: ValidatingAdmissionPolicy,
    signal: AbortSignal,
  ) => readonly ExpressionWarning[] | Promise<readonly ExpressionWarning[]>
}

export function validatingAdmissionPolicyStatusController(
  settings: ValidatingAdmissionPolicyStatusSettings,
): Controller {
  return {
    name: 'validatingadmissionpolicy-status-controller',
    account: 'validatingadmissionpolicy-status-controller',
    setUp: context => setUp(context, settings),
  }
}

const fieldManager = 'validatingadmissionpolicy-status'

function setUp(
  { informer, enqueue }: ControllerContext,
  { checkTypes }: ValidatingAdmissionPolicyStatusSettings,
): Reconcile {
  const policies = informer(validatingAdmissionPolicies)
  policies.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && !isObserved(newObject)) enqueue(key)
  })

  return async ({ key: name, client, signal }) => {
    const policy = policies.get(name)
    if (policy === undefined || isObserved(policy)) return
    const warnings = await checkTypes(policy, signal)
    const status = {
      observedGeneration: policy.metadata.generation ?? 0,
      typeChecking: warnings.length === 0 ? {} : { expressionWarnings: warnings },
    }
    try {
      const applied = { metadata: { name }, status }
      const options = { fieldManager, force: true, subresource: 'status', signal }
      await client.apply(validatingAdmissionPolicies, applied, options)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function isObserved({ metadata, status }: ValidatingAdmissionPolicy): boolean {
  return compareInt64(metadata.generation ?? 0, status?.observedGeneration ?? 0) <= 0
}
