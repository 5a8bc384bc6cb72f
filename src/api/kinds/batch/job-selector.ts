/**
 * How a job finds its pods: by labels with its uid and its name, which the server puts into the template. Who
 * insists selects by labels of its own.
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { Job } from '../../generated/batch/v1.ts'
import type { Labels } from '../../labels.ts'
import type { ObjectMeta } from '../../metadata.ts'
import { compileLabelSelector } from '../../selector.ts'
import { validateSelector } from '../core/pod/selectors.ts'

const controllerUidLabel = 'batch.kubernetes.io/controller-uid'

/** The old names go on beside the new ones. */
function labelsOf({ uid = '', name = '' }: ObjectMeta): Labels {
  return {
    'job-name': name,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    [controllerUidLabel]: uid,
  }
}

export function withGeneratedSelector(job: Job): Job {
  const { metadata = {}, spec } = job
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

/** A selector that is not the server's must not look as if it were. */
export function validateGeneratedSelector({ metadata = {}, spec }: Job): FieldError[] {
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
