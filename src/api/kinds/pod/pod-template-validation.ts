/** Validation of pod templates, and the additional requirements of workload controllers. */
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type { PodTemplateSpec } from '../../generated/core/v1.ts'
import { validateLabels } from '../../labels.ts'
import { compileLabelSelector, type LabelSelector } from '../../selectors/selector.ts'
import { validateAnnotations } from '../../validate-metadata.ts'
import { validatePodAnnotations, validateProfilesMatch } from './pod-annotation-validation.ts'
import { validatePodSpec } from './pod-spec-validation.ts'
import { validateSelector } from '../validation/selectors.ts'

export function validatePodTemplate(field: string, template: PodTemplateSpec): FieldError[] {
  const { metadata = {}, spec = { containers: [] } } = template
  const errors = [
    ...validatePodTemplateMetadata(field, template),
    ...validatePodSpec(`${field}.spec`, spec, {}),
    ...validateProfilesMatch(`${field}.spec`, metadata, spec),
  ]
  if (!spec.ephemeralContainers?.length) return errors
  const detail = 'ephemeral containers not allowed in pod template'
  return [...errors, forbiddenField(`${field}.spec.ephemeralContainers`, detail)]
}

export function validatePodTemplateMetadata(
  field: string,
  { metadata = {}, spec = { containers: [] } }: PodTemplateSpec,
): FieldError[] {
  const { labels, annotations = {} } = metadata
  return [
    ...validateLabels(`${field}.labels`, labels),
    ...validateAnnotations(annotations, `${field}.annotations`),
    ...validatePodAnnotations(`${field}.annotations`, annotations, spec),
  ]
}

/**
 * For controllers that keep pods running: `restartPolicy` must be Always, and `activeDeadlineSeconds` must
 * not be set.
 */
export function validateTemplateRestartsAlways(
  field: string,
  template: PodTemplateSpec,
  owner: string,
): FieldError[] {
  const { restartPolicy = '', activeDeadlineSeconds } = template.spec ?? {}
  const errors: FieldError[] = []
  if (restartPolicy !== 'Always') {
    errors.push(notSupported(`${field}.spec.restartPolicy`, restartPolicy, ['Always']))
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = `activeDeadlineSeconds in ${owner} is not Supported`
    errors.push(forbiddenField(`${field}.spec.activeDeadlineSeconds`, detail))
  }
  return errors
}

export interface SelectedTemplate {
  readonly selector: LabelSelector | undefined
  readonly template: PodTemplateSpec
  /** Error message for a selector that matches everything. */
  readonly emptyDetail: string
  /** Error message for an invalid selector. */
  readonly invalidDetail: string
  readonly validateTemplate: (field: string, template: PodTemplateSpec) => readonly FieldError[]
}

/**
 * The selector must be present, valid and not empty, and must match the labels of the template. The template is
 * validated only if the selector is valid.
 */
export function validateSelectorAndTemplate(field: string, options: SelectedTemplate): FieldError[] {
  const { selector, template, emptyDetail, invalidDetail } = options
  const place = `${field}.selector`
  const faults = validateSelector(place, selector)
  if (faults.length > 0) return [...faults, invalid(place, selector, invalidDetail)]
  const errors: FieldError[] = []
  if (selector === undefined) errors.push(required(place, ''))
  else if (isEmptySelector(selector)) errors.push(invalid(place, selector, emptyDetail))
  return [
    ...errors,
    ...validateSelectorMatchesTemplate(field, selector, template),
    ...options.validateTemplate(`${field}.template`, template),
  ]
}

export function isEmptySelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  return Object.keys(matchLabels).length + matchExpressions.length === 0
}

/**
 * A controller whose selector does not match its own pods would create pods without end. The selector must be
 * valid; an absent one matches nothing.
 */
export function validateSelectorMatchesTemplate(
  field: string,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
): FieldError[] {
  const labels = template?.metadata?.labels
  if (compileLabelSelector(selector).matches(labels)) return []
  const detail = '`selector` does not match template `labels`'
  return [invalid(`${field}.template.metadata.labels`, labels ?? null, detail)]
}
