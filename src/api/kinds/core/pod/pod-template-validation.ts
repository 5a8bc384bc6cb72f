/** All that is wrong with a pod template, and what those who make pods of one ask of it beyond that. */
import { forbiddenField, invalid, notSupported, type FieldError } from '../../../field-error.ts'
import type { PodTemplateSpec } from '../../../generated/core/v1.ts'
import { validateLabels } from '../../../labels.ts'
import { compileLabelSelector, type LabelSelector } from '../../../selector.ts'
import { validateAnnotations } from '../../../validate-metadata.ts'
import { validatePodAnnotations, validateProfilesMatch } from './pod-annotation-validation.ts'
import { validatePodSpec } from './pod-spec-validation.ts'
import { validateSelector } from './selectors.ts'

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

/** A template whose pods are replaced whenever they end: nothing in it may end them. */
export function validateLastingTemplate(
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
  /** What a selector that selects everything is refused with. */
  readonly emptyDetail: string
}

/** A selector that is valid, selects something, and selects the template's own pods. */
export function validatePodSelector(
  field: string,
  { selector, template, emptyDetail }: SelectorRules,
): FieldError[] {
  const place = `${field}.selector`
  const errors = validateSelector(place, selector)
  const terms = Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions?.length ?? 0)
  if (selector !== undefined && terms === 0) errors.push(invalid(place, selector, emptyDetail))
  return errors.length > 0 ? errors : validateSelects(field, selector, template)
}

/** Whoever does not select the pods it makes would make more and more of them. The selector is valid. */
export function validateSelects(
  field: string,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
): FieldError[] {
  const labels = template?.metadata?.labels
  if (selector === undefined || compileLabelSelector(selector).matches(labels)) return []
  const detail = '`selector` does not match template `labels`'
  return [invalid(`${field}.template.metadata.labels`, labels ?? null, detail)]
}
