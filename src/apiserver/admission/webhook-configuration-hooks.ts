import type { MatchCondition } from '#/api/generated/admissionregistration/v1.ts'
import { invalid, type FieldError } from '#/api/field-error.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { InvalidExpression } from '#/cel/compile-expression.ts'
import type { ResourceHooks } from '../registry/hooks.ts'
import { compileCondition } from './matching/expressions.ts'
import type { WebhookConfiguration } from './webhooks/webhook.ts'

/** Validates the CEL matchConditions of webhooks, which the validation of the kind does not cover. */
export const webhookConfigurationHooks: ResourceHooks = { validate }

function validate(object: KubernetesObject, oldObject: KubernetesObject | undefined): readonly FieldError[] {
  const conditions = conditionsOf(object)
  // Unchanged conditions are not validated again, so that stored configurations stay valid if CEL validation
  // becomes stricter.
  if (oldObject && equalJson(conditions, conditionsOf(oldObject))) return []
  return conditions.flatMap((ofWebhook, webhook) =>
    ofWebhook.flatMap(({ expression = '' }, index) =>
      validateExpression(`webhooks[${webhook}].matchConditions[${index}].expression`, expression),
    ),
  )
}

/** matchConditions of each webhook. Required fields may be missing before validation. */
function conditionsOf(object: KubernetesObject): readonly (readonly Partial<MatchCondition>[])[] {
  const { webhooks = [] } = object as WebhookConfiguration
  return webhooks.map(({ matchConditions = [] }) => matchConditions)
}

/** An empty expression is reported by the validation of the kind. */
function validateExpression(field: string, expression: string): FieldError[] {
  if (expression.trim() === '') return []
  const compiled = compileCondition(expression)
  return compiled instanceof InvalidExpression ? [invalid(field, expression, compiled.message)] : []
}
