/** Validation of pod templates, and the additional requirements of workload controllers. */
import { forbiddenField, invalid, notSupported, type FieldError } from '../../field-error.ts'
import type { PodTemplateSpec } from '../../generated/core/v1.ts'
import { validateLabels } from '../../labels.ts'
import { compileLabelSelector, type LabelSelector } from '../../selectors/selector.ts'
import { validateAnnotations } from '../../validate-metadata.ts'
import { validatePodAnnotations, validateProfilesMatch } from './pod-annotation-validation.ts'
import { validatePodSpec } from './pod-spec-validation.ts'
import { validateSelector } from '../validation/selectors.ts'

export function validatePodTemplate(field: string, template: PodTemplateSpec): FieldError[] {
  const { metadata = {}, spec = { containers: [] } } = template
  const { labels, annotations = {} } = metadata
  const errors = [
    ...validateLabels(`${field}.labels`, labels),
    ...validateAnnotations(annotations, `${field}.annotations`),
    ...validatePodAnnotations(`${field}.annotations`, annotations, spec),
    ...validatePodSpec(`${field}.spec`, spec, {}),
    ...validateProfilesMatch(`${field}.spec`, metadata, spec),
  ]
  if (!spec.ephemeralContainers?.length) return errors
  const detail = 'ephemeral containers not allowed in pod template'
  return [...errors, forbiddenField(`${field}.spec.ephemeralContainers`, detail)]
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

export interface SelectorRules {
  readonly selector: LabelSelector | undefined
  readonly template: PodTemplateSpec | undefined
  /** Error message for a selector that matches everything. */
  readonly emptyDetail: string
}

/** The selector must be valid, must not be empty, and must match the labels of the template. */
export function validatePodSelector(
  field: string,
  { selector, template, emptyDetail }: SelectorRules,
): FieldError[] {
  const place = `${field}.selector`
  const errors = validateSelector(place, selector)
  const terms = Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0)
  if (selector !== undefined && terms === 0) errors.push(invalid(place, selector, emptyDetail))
  return errors.length > 0 ? errors : validateSelectorMatchesTemplate(field, selector, template)
}

/**
 * A controller whose selector does not match its own pods would create pods without end. The selector must be
 * valid.
 */
export function validateSelectorMatchesTemplate(
  field: string,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
): FieldError[] {
  const labels = template?.metadata?.labels
  if (selector === undefined || compileLabelSelector(selector).matches(labels)) return []
  const detail = '`selector` does not match template `labels`'
  return [invalid(`${field}.template.metadata.labels`, labels ?? null, detail)]
}
