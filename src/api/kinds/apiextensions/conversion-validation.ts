/** Validation of `spec.conversion`. */
import { forbiddenField, required, type FieldError } from '../../field-error.ts'
import type { CustomResourceConversion } from '../../generated/apiextensions/v1.ts'
import { validateChoice } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateReviewVersions, validateWebhookClient } from '../validation/webhook-client.ts'

/**
 * Error messages use the field paths of `v1beta1`, in which the webhook's fields are next to the strategy.
 */
const clientField = 'spec.conversion.webhookClientConfig'
const versionsField = 'spec.conversion.conversionReviewVersions'

export function validateConversion(conversion: Unchecked<CustomResourceConversion>): FieldError[] {
  const { strategy, webhook = {} } = conversion
  const errors = validateChoice('spec.conversion.strategy', strategy, ['None', 'Webhook'])
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook'
    return [
      ...errors,
      ...(clientConfig ? [forbiddenField(clientField, detail)] : []),
      ...(versions.length > 0 ? [forbiddenField(versionsField, detail)] : []),
    ]
  }
  return [
    ...errors,
    ...(clientConfig
      ? validateWebhookClient(clientField, clientConfig)
      : [required(clientField, 'required when strategy is set to Webhook')]),
    ...(versions.length > 0
      ? validateReviewVersions(versionsField, versions, ['v1', 'v1beta1'])
      : [required(versionsField, '')]),
  ]
}
