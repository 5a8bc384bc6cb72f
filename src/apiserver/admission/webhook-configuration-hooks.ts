import type { MatchCondition } from '#/api/generated/admissionregistration/v1.ts'
import { invalid, type FieldError } from '#/api/field-error.ts'
import { equalJson } from '#/api/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import type { ResourceHooks } from '../registry/hooks.ts'
import { compileCondition } from './matching/expressions.ts'
import type { WebhookConfiguration } from './webhooks/webhook.ts'

/** Conditions must be expressions of the language, which the rules of the kind do not know. */
export const webhookConfigurationHooks: ResourceHooks = { validate }

function validate(object: KubernetesObject, before: KubernetesObject | undefined): readonly FieldError[] {
  const conditions = conditionsOf(object)
  // What was accepted once may stay, should the language ever become stricter.
  if (before && equalJson(conditions, conditionsOf(before))) return []
  return conditions.flatMap((ofWebhook, webhook) =>
    ofWebhook.flatMap(({ expression = '' }, index) =>
      validateExpression(`webhooks[${webhook}].matchConditions[${index}].expression`, expression),
    ),
  )
}

/** Of each webhook. Required fields may be missing in what is about to be refused. */
function conditionsOf(object: KubernetesObject): readonly (readonly Partial<MatchCondition>[])[] {
  const { webhooks = [] } = object as WebhookConfiguration
  return webhooks.map(({ matchConditions = [] }) => matchConditions)
}

/** That there must be one is said elsewhere. */
function validateExpression(field: string, expression: string): FieldError[] {
  if (expression.trim() === '') return []
  const compiled = compileCondition(expression)
  return compiled instanceof InvalidExpression ? [invalid(field, expression, compiled.message)] : []
}
