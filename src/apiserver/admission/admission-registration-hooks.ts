/**
 * Validates the CEL expressions of admission policies and the matchConditions of webhooks, which the validation
 * of their kinds does not cover.
 */
import { invalid, type FieldError } from '#/api/field-error.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { type Compiled, InvalidExpression } from '#/cel/compile-expression.ts'
import type { MatchCondition } from '#/api/generated/admissionregistration/v1.ts'
import type { ResourceHooks } from '../registry/hooks.ts'
import {
  compileMutatingPolicy,
  compileValidatingPolicy,
  type WrittenMutatingSpec,
  type WrittenValidatingSpec,
} from './policies/compile-policy.ts'
import { compileCondition } from './matching/expressions.ts'
import type { WebhookConfiguration } from './webhooks/webhook.ts'

export const validatingAdmissionPolicyHooks: ResourceHooks = {
  validate: (object, oldObject) => (isUnchanged(object, oldObject) ? [] : validateValidating(object)),
}

export const mutatingAdmissionPolicyHooks: ResourceHooks = {
  validate: (object, oldObject) => (isUnchanged(object, oldObject) ? [] : validateMutating(object)),
}

export const webhookConfigurationHooks: ResourceHooks = { validate: validateWebhooks }

/**
 * Unchanged specs are not validated again, so that stored policies stay valid if CEL validation becomes
 * stricter.
 */
function isUnchanged(object: KubernetesObject, oldObject: KubernetesObject | undefined): boolean {
  return oldObject !== undefined && equalJson(specOf(object), specOf(oldObject))
}

function specOf(object: KubernetesObject): JsonValue {
  return ((object as { readonly spec?: object }).spec ?? null) as JsonValue
}

function validateValidating(object: KubernetesObject): FieldError[] {
  const { spec = {} } = object as { readonly spec?: WrittenValidatingSpec }
  const compiled = compileValidatingPolicy(spec)
  return [
    ...validateShared(compiled),
    ...compiled.validations.flatMap(({ condition, messageExpression }, index) => [
      ...validateExpression(`spec.validations[${index}].expression`, condition),
      ...validateExpression(`spec.validations[${index}].messageExpression`, messageExpression),
    ]),
    ...compiled.auditAnnotations.flatMap(({ value }, index) =>
      validateExpression(`spec.auditAnnotations[${index}].valueExpression`, value),
    ),
  ]
}

function validateMutating(object: KubernetesObject): FieldError[] {
  const { spec = {} } = object as { readonly spec?: WrittenMutatingSpec }
  const compiled = compileMutatingPolicy(spec)
  return [
    ...validateShared(compiled),
    ...compiled.mutations.flatMap(({ type, expression }, index) => {
      const patch = type === 'apply' ? 'applyConfiguration' : 'jsonPatch'
      return validateExpression(`spec.mutations[${index}].${patch}.expression`, expression)
    }),
  ]
}

function validateShared({
  conditions,
  definitions,
}: {
  readonly conditions: readonly Compiled[]
  readonly definitions: readonly Compiled[]
}): FieldError[] {
  return [
    ...conditions.flatMap((each, index) =>
      validateExpression(`spec.matchConditions[${index}].expression`, each),
    ),
    ...definitions.flatMap((each, index) => validateExpression(`spec.variables[${index}].expression`, each)),
  ]
}

function validateWebhooks(
  object: KubernetesObject,
  oldObject: KubernetesObject | undefined,
): readonly FieldError[] {
  const conditions = conditionsOf(object)
  // Unchanged conditions are not validated again, so that stored configurations stay valid if CEL validation
  // becomes stricter.
  if (oldObject && equalJson(conditions, conditionsOf(oldObject))) return []
  return conditions.flatMap((ofWebhook, webhook) =>
    ofWebhook.flatMap(({ expression = '' }, index) =>
      validateExpression(
        `webhooks[${webhook}].matchConditions[${index}].expression`,
        compileCondition(expression),
      ),
    ),
  )
}

/** matchConditions of each webhook. Required fields may be missing before validation. */
function conditionsOf(object: KubernetesObject): readonly (readonly Partial<MatchCondition>[])[] {
  const { webhooks = [] } = object as WebhookConfiguration
  return webhooks.map(({ matchConditions = [] }) => matchConditions)
}

/** An empty expression is reported by the validation of the kind. */
function validateExpression(field: string, compiled: Compiled | undefined): FieldError[] {
  if (!(compiled instanceof InvalidExpression) || compiled.expression.trim() === '') return []
  return [invalid(field, compiled.expression, compiled.message)]
}
