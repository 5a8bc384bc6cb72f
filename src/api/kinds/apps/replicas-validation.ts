/** Validation common to Deployment and ReplicaSet. */
import { required, type FieldError } from '../../field-error.ts'
import type { PodTemplateSpec } from '../../generated/core/v1.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import {
  validateTemplateRestartsAlways,
  validatePodSelector,
  validatePodTemplate,
} from '../pod/pod-template-validation.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'

export interface ReplicasSpec {
  readonly replicas?: number
  readonly selector?: LabelSelector
  readonly template?: PodTemplateSpec
}

export function validateReplicas(
  field: string,
  { replicas, selector, template = {} }: ReplicasSpec,
): FieldError[] {
  const emptyDetail = 'empty selector is invalid for deployment'
  return [
    ...validateNonNegative(`${field}.replicas`, replicas),
    ...(selector === undefined ? [required(`${field}.selector`, '')] : []),
    ...validatePodSelector(field, { selector, template, emptyDetail }),
    ...validatePodTemplate(`${field}.template`, template),
    ...validateTemplateRestartsAlways(`${field}.template`, template, 'ReplicaSet'),
  ]
}

/** The selector is immutable: with another selector the object would lose its pods. */
export function validateSelectorUnchanged(
  selector: LabelSelector | undefined,
  old: LabelSelector | undefined,
): FieldError[] {
  return semanticEqual(selector, old) ? [] : validateImmutable(selector ?? null, old ?? null, 'spec.selector')
}
