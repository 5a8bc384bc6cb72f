/** Validation common to Deployment and ReplicaSet. */
import type { FieldError } from '../../field-error.ts'
import type { PodTemplateSpec } from '../../generated/core/v1.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import {
  validateTemplateRestartsAlways,
  validatePodTemplate,
  validateSelectorAndTemplate,
} from '../pod/pod-template-validation.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'

export interface TemplateSpec {
  readonly selector?: LabelSelector
  readonly template?: PodTemplateSpec
}

export function validateReplicaTemplate(
  field: string,
  { selector, template = {} }: TemplateSpec,
): FieldError[] {
  return validateSelectorAndTemplate(field, {
    selector,
    template,
    emptyDetail: 'empty selector is invalid for deployment',
    invalidDetail: 'invalid label selector',
    validateTemplate,
  })
}

function validateTemplate(field: string, template: PodTemplateSpec): FieldError[] {
  return [
    ...validatePodTemplate(field, template),
    ...validateTemplateRestartsAlways(field, template, 'ReplicaSet'),
  ]
}

/** The selector is immutable: with another selector the object would lose its pods. */
export function validateSelectorUnchanged(
  selector: LabelSelector | undefined,
  old: LabelSelector | undefined,
): FieldError[] {
  return semanticEqual(selector, old) ? [] : validateImmutable(selector ?? null, old ?? null, 'spec.selector')
}
