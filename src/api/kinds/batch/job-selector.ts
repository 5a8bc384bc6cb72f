/**
 * Generated selector of a Job: labels with its uid and name, which the server adds to the template. With
 * `manualSelector` the user provides the selector.
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { Job } from '../../generated/batch/v1.ts'
import type { Labels } from '../../labels.ts'
import type { ObjectMeta } from '../../metadata.ts'
import { compileLabelSelector } from '../../selectors/selector.ts'
import { validateSelector } from '../validation/selectors.ts'

const controllerUidLabel = 'batch.kubernetes.io/controller-uid'

/** Includes the legacy labels without prefix. */
function labelsOf({ uid = '', name = '' }: ObjectMeta): Labels {
  return {
    'job-name': name,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    [controllerUidLabel]: uid,
  }
}

export function withGeneratedSelector(job: Job): Job {
  const { metadata, spec } = job
  if (spec === undefined || spec.manualSelector === true) return job
  const { template, selector } = spec
  const labels = { ...labelsOf(metadata), ...template?.metadata?.labels }
  const matchLabels = { [controllerUidLabel]: metadata.uid ?? '', ...selector?.matchLabels }
  return {
    ...job,
    spec: {
      ...spec,
      selector: { ...selector, matchLabels },
      template: { ...template, metadata: { ...template?.metadata, labels } },
    },
  }
}

/** Without `manualSelector`, the selector must match the generated labels. */
export function validateGeneratedSelector({ metadata, spec }: Job): FieldError[] {
  const { selector, template, manualSelector } = spec ?? {}
  if (manualSelector === true || selector === undefined) return []
  const expected = labelsOf(metadata)
  const actual = new Map(Object.entries(template?.metadata?.labels ?? {}))
  const errors = metadata.uid ? [] : [required('metadata.uid', '')]
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`
    const detail = `must be '${value}'`
    if (!actual.has(key)) errors.push(required(field, detail))
    else if (actual.get(key) !== value) errors.push(invalid(field, template?.metadata?.labels, detail))
  }
  if (validateSelector('', selector).length > 0 || compileLabelSelector(selector).matches(expected)) {
    return errors
  }
  return [...errors, invalid('spec.selector', selector, '`selector` not auto-generated')]
}
