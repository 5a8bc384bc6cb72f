/** Validation of Job and of the job template of a CronJob. */
import { invalid, notSupported, required, tooLong, type FieldError } from '../../field-error.ts'
import type { Job, JobSpec } from '../../generated/batch/v1.ts'
import { checkDns1123Label, validateDomainPrefixedPath } from '../../names.ts'
import { validateNonNegative, validateOptionalChoice } from '../validation/field-checks.ts'
import { validatePodTemplate, validateSelectorMatchesTemplate } from '../pod/pod-template-validation.ts'
import { validateSelector } from '../validation/selectors.ts'
import { validatePodFailurePolicy, validateSuccessPolicy } from './job-policy-validation.ts'
import { validateGeneratedSelector } from './job-selector.ts'

export function validateJob(job: Job): FieldError[] {
  const spec: Partial<JobSpec> = job.spec ?? {}
  const { name = '' } = job.metadata
  const { completions = 0, completionMode } = spec
  const errors = [...validateGeneratedSelector(job), ...validateSelectedSpec('spec', spec)]
  const hostname = `${name}-${completions - 1}`
  if (completionMode !== 'Indexed' || completions <= 0 || checkDns1123Label(hostname).length === 0) {
    return errors
  }
  const detail = `will not able to create pod with invalid DNS label: ${hostname}`
  return [...errors, invalid('metadata.name', name, detail)]
}

export function validateSelectedSpec(field: string, spec: Partial<JobSpec>): FieldError[] {
  const { selector, template } = spec
  const errors = validateJobSpec(field, spec)
  if (selector === undefined) errors.push(required(`${field}.selector`, ''))
  const selectorErrors = validateSelector(`${field}.selector`, selector)
  return selectorErrors.length > 0
    ? [...errors, ...selectorErrors]
    : [...errors, ...validateSelectorMatchesTemplate(field, selector, template)]
}

const managedByBytesMax = 63
const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const

/** Validates the spec of a job without a selector. */
export function validateJobSpec(field: string, spec: Partial<JobSpec>): FieldError[] {
  const { managedBy, podFailurePolicy, successPolicy, template = {} } = spec
  const errors = counts.flatMap(name => validateNonNegative(`${field}.${name}`, spec[name]))
  if (spec.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(required(`${field}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'))
  }
  if (managedBy !== undefined) errors.push(...validateDomainPrefixedPath(`${field}.managedBy`, managedBy))
  if (managedBy !== undefined && managedBy.length > managedByBytesMax) {
    errors.push(tooLong(`${field}.managedBy`, managedByBytesMax))
  }
  errors.push(...validateCompletionMode(field, spec))
  if (podFailurePolicy) {
    errors.push(...validatePodFailurePolicy(`${field}.podFailurePolicy`, podFailurePolicy, spec))
  }
  if (successPolicy && spec.completionMode !== 'Indexed') {
    errors.push(invalid(`${field}.successPolicy`, successPolicy, 'requires indexed completion mode'))
  } else if (successPolicy) {
    errors.push(...validateSuccessPolicy(`${field}.successPolicy`, successPolicy, spec.completions ?? 0))
  }
  return [
    ...errors,
    ...validateReplacementPolicy(`${field}.podReplacementPolicy`, spec),
    ...validatePodTemplate(`${field}.template`, template),
    ...validateRestartPolicy(`${field}.template.spec.restartPolicy`, spec),
  ]
}

/** Maximum parallelism and failed indexes of an Indexed job. */
const indexedMax = 100_000
/** Above this many completions, `parallelism` and `maxFailedIndexes` have lower limits. */
const completionsSoftMax = 100_000
const highCompletionsMax = 10_000

function validateCompletionMode(field: string, spec: Partial<JobSpec>): FieldError[] {
  const { completionMode, backoffLimitPerIndex, maxFailedIndexes } = spec
  const errors = validateOptionalChoice(`${field}.completionMode`, completionMode, ['NonIndexed', 'Indexed'])
  if (completionMode === 'Indexed') return [...errors, ...validateIndexed(field, spec)]
  if (completionMode !== undefined && completionMode !== 'NonIndexed') return errors
  const detail = 'requires indexed completion mode'
  if (backoffLimitPerIndex !== undefined) {
    errors.push(invalid(`${field}.backoffLimitPerIndex`, backoffLimitPerIndex, detail))
  }
  if (maxFailedIndexes !== undefined) {
    errors.push(invalid(`${field}.maxFailedIndexes`, maxFailedIndexes, detail))
  }
  return errors
}

function validateIndexed(field: string, spec: Partial<JobSpec>): FieldError[] {
  const { completions, parallelism = 0, maxFailedIndexes: maxFailed, backoffLimitPerIndex } = spec
  const errors: FieldError[] = []
  const refuse = (name: string, value: number, limit: string): void => {
    errors.push(invalid(`${field}.${name}`, value, `must be less than or equal to ${limit}`))
  }
  if (completions === undefined) {
    errors.push(required(`${field}.completions`, 'when completion mode is Indexed'))
  }
  if (parallelism > indexedMax) {
    refuse('parallelism', parallelism, `${indexedMax} when completion mode is Indexed`)
  }
  if (completions !== undefined && maxFailed !== undefined && maxFailed > completions) {
    refuse('maxFailedIndexes', maxFailed, 'completions')
  }
  if (maxFailed !== undefined && maxFailed > indexedMax) {
    refuse('maxFailedIndexes', maxFailed, `${indexedMax}`)
  }
  if (completions === undefined || completions <= completionsSoftMax || backoffLimitPerIndex === undefined) {
    return errors
  }
  const many = `completions are above ${completionsSoftMax} and used with backoff limit per index`
  if (maxFailed === undefined) {
    const detail = `must be specified when completions is above ${completionsSoftMax}`
    errors.push(required(`${field}.maxFailedIndexes`, detail))
  }
  if (parallelism > highCompletionsMax) {
    refuse('parallelism', parallelism, `${highCompletionsMax} when ${many}`)
  }
  if (maxFailed !== undefined && maxFailed > highCompletionsMax) {
    refuse('maxFailedIndexes', maxFailed, `${highCompletionsMax} when ${many}`)
  }
  return errors
}

/** With a pod failure policy, only `Failed` is allowed: pods are replaced once they have failed. */
function validateReplacementPolicy(field: string, spec: Partial<JobSpec>): FieldError[] {
  const choices = spec.podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed']
  return validateOptionalChoice(field, spec.podReplacementPolicy, choices)
}

/** `Always` is not allowed: such a pod never completes. */
function validateRestartPolicy(
  field: string,
  { template, podFailurePolicy }: Partial<JobSpec>,
): FieldError[] {
  const policy = template?.spec?.restartPolicy ?? ''
  if (policy === '' || policy === 'Always') return [required(field, 'valid values: "OnFailure", "Never"')]
  if (policy !== 'OnFailure' && policy !== 'Never') {
    return [notSupported(field, policy, ['OnFailure', 'Never'])]
  }
  if (podFailurePolicy === undefined || policy === 'Never') return []
  return [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
}
