/**
 * Validation of job status updates: counters never decrease, finished jobs stay finished, and conditions are
 * consistent. Unchanged parts are not validated again.
 */
import { duplicate, invalid, required, type FieldError } from '../../field-error.ts'
import type { Job, JobStatus } from '../../generated/batch/v1.ts'
import { firstOverlap, parseIndexRanges } from '../../text/index-ranges.ts'
import { parseTime } from '../../text/time.ts'
import { validateNonNegative } from '../validation/field-checks.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { isConditionFalse, isConditionTrue, type JobConditionType } from './job-conditions.ts'
import { invalidWhole } from './job-policy-validation.ts'

export function validateJobStatusUpdate(job: Job, old: Job): FieldError[] {
  const change = changeOf(job, old)
  return [
    ...validateCounts(change),
    ...validateUncounted(change.status),
    ...validateConditions(change),
    ...validateTimes(change),
    ...validateFinished(change),
    ...validateIndexes(change),
    ...validateOnlyForward(change),
    ...validateReady(change),
  ]
}

interface Change {
  readonly job: Job
  readonly status: JobStatus
  readonly old: JobStatus
  /** True if the condition has status True. */
  readonly is: (type: JobConditionType) => boolean
  readonly was: (type: JobConditionType) => boolean
  /** True if one of these conditions changed. */
  readonly turned: (...types: readonly JobConditionType[]) => boolean
  /** True if one of these status fields changed. */
  readonly changed: (...names: readonly (keyof JobStatus)[]) => boolean
}

function changeOf(job: Job, { status: old = {} }: Job): Change {
  const { status = {} } = job
  const is = (type: JobConditionType): boolean => isConditionTrue(status.conditions, type)
  const was = (type: JobConditionType): boolean => isConditionTrue(old.conditions, type)
  return {
    job,
    status,
    old,
    is,
    was,
    turned: (...types) => types.some(type => is(type) !== was(type)),
    changed: (...names) => names.some(name => !semanticEqual(status[name], old[name])),
  }
}

function validateCounts({ status }: Change): FieldError[] {
  const names = ['active', 'succeeded', 'failed', 'ready', 'terminating'] as const
  return names.flatMap(name => validateNonNegative(`status.${name}`, status[name]))
}

function validateReady({ status, changed }: Change): FieldError[] {
  const { active = 0, ready } = status
  if (ready === undefined || ready <= active || !changed('ready', 'active')) return []
  return [invalid('status.ready', ready, 'cannot set more ready pods than active')]
}

function validateUncounted({ uncountedTerminatedPods: pods }: JobStatus): FieldError[] {
  const seen = new Set<string>()
  return (['succeeded', 'failed'] as const).flatMap(list =>
    (pods?.[list] ?? []).flatMap((uid, index) => {
      const field = `status.uncountedTerminatedPods.${list}[${index}]`
      if (uid === '') return [invalid(field, uid, 'must not be empty')]
      if (seen.has(uid)) return [duplicate(field, uid)]
      seen.add(uid)
      return []
    }),
  )
}

function validateConditions({ job, is, turned, changed }: Change): FieldError[] {
  const problems: string[] = []
  if (turned('Complete', 'Failed') && is('Complete') && is('Failed')) {
    problems.push('cannot set Complete=True and Failed=true conditions')
  }
  if (turned('Complete', 'FailureTarget') && is('Complete') && is('FailureTarget')) {
    problems.push('cannot set Complete=True and FailureTarget=true conditions')
  }
  if ((turned('Failed') || changed('failedIndexes')) && is('Failed') && !is('FailureTarget')) {
    problems.push('cannot set Failed=True condition without the FailureTarget=true condition')
  }
  if (turned('Complete', 'SuccessCriteriaMet') && is('Complete') && !is('SuccessCriteriaMet')) {
    problems.push('cannot set Complete=True condition without the SuccessCriteriaMet=true condition')
  }
  if (is('SuccessCriteriaMet') && is('Failed')) {
    problems.push('cannot set SuccessCriteriaMet=True and Failed=true conditions')
  }
  if (is('SuccessCriteriaMet') && is('FailureTarget')) {
    problems.push('cannot set SuccessCriteriaMet=True and FailureTarget=true conditions')
  }
  if (job.spec?.successPolicy !== undefined && !is('SuccessCriteriaMet') && is('Complete')) {
    problems.push('cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True')
  }
  return problems.map(problem => invalidWhole('status.conditions', problem))
}

function validateTimes({ job, status, old, is, turned, changed }: Change): FieldError[] {
  const { startTime, completionTime } = status
  const errors: FieldError[] = []
  const refuse = (detail: string): void =>
    void errors.push(invalid('status.completionTime', completionTime, detail))
  if (turned('Complete') || changed('completionTime')) {
    if (completionTime !== undefined && !is('Complete')) {
      refuse('cannot set completionTime when there is no Complete=True condition')
    }
    if (completionTime === undefined && is('Complete')) {
      errors.push(required('status.completionTime', 'completionTime is required for Complete jobs'))
    }
  }
  if (changed('startTime', 'completionTime') && startTime && completionTime) {
    if ((parseTime(completionTime) ?? 0) < (parseTime(startTime) ?? 0)) {
      refuse('must be equal to or after `startTime`')
    }
  }
  if (completionTime !== undefined && old.completionTime !== undefined && changed('completionTime')) {
    refuse('field is immutable')
  }
  const isResuming =
    isConditionTrue(old.conditions, 'Suspended') && isConditionFalse(status.conditions, 'Suspended')
  if (old.startTime !== undefined && changed('startTime') && !isResuming && job.spec?.suspend !== true) {
    const detail = 'field is immutable for unsuspended job once set'
    errors.push(invalid('status.startTime', startTime ?? null, detail))
  }
  return errors
}

/** A finished job must have no active, terminating or uncounted pods. */
function validateFinished({ job, status, is, turned, changed }: Change): FieldError[] {
  if (!is('Complete') && !is('Failed')) return []
  const { active = 0, terminating = 0, startTime, uncountedTerminatedPods: pods } = status
  const ended = turned('Complete', 'Failed')
  const neverStarts = job.spec?.suspend === true && job.spec.completions === 0
  const errors: FieldError[] = []
  if (active > 0 && (ended || changed('active'))) {
    errors.push(invalid('status.active', active, 'active>0 is invalid for finished job'))
  }
  if (startTime === undefined && (ended || changed('startTime')) && !neverStarts) {
    errors.push(required('status.startTime', 'startTime is required for finished job'))
  }
  const uncounted = (pods?.failed ?? []).length + (pods?.succeeded ?? []).length
  if (uncounted > 0 && (ended || changed('uncountedTerminatedPods'))) {
    errors.push(invalid('status.uncountedTerminatedPods', pods, 'must be empty for finished job'))
  }
  if (terminating > 0 && (ended || changed('terminating'))) {
    errors.push(invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job'))
  }
  return errors
}

function validateIndexes({ job, status, changed }: Change): FieldError[] {
  const { completions, backoffLimitPerIndex, completionMode } = job.spec ?? {}
  const { completedIndexes = '', failedIndexes } = status
  if (!changed('completedIndexes', 'failedIndexes')) return []
  const completed = parseIndexRanges(completedIndexes, completions ?? Infinity)
  const failed = parseIndexRanges(failedIndexes ?? '', completions ?? Infinity)
  const errors: FieldError[] = []
  const refuse = (name: 'completedIndexes' | 'failedIndexes', detail: string): void => {
    errors.push(invalid(`status.${name}`, status[name] ?? '', detail))
  }
  if (changed('completedIndexes')) {
    if (typeof completed === 'string') {
      refuse('completedIndexes', `error parsing completedIndexes: ${completed}`)
    }
    if (completedIndexes !== '' && completionMode !== 'Indexed') {
      refuse('completedIndexes', 'cannot set non-empty completedIndexes when non-indexed completion mode')
    }
  }
  if (changed('failedIndexes')) {
    if (typeof failed === 'string') refuse('failedIndexes', `error parsing failedIndexes: ${failed}`)
    if (backoffLimitPerIndex === undefined && failedIndexes !== undefined) {
      refuse('failedIndexes', 'cannot set non-null failedIndexes when backoffLimitPerIndex is null')
    }
  }
  if (typeof completed === 'string' || typeof failed === 'string') return errors
  const overlap = firstOverlap(completed, failed)
  if (overlap !== undefined) {
    refuse('failedIndexes', `failedIndexes and completedIndexes overlap at index: ${overlap}`)
  }
  return errors
}

function validateOnlyForward({ job, status, old, is, was }: Change): FieldError[] {
  const { completionMode, completions, parallelism } = job.spec ?? {}
  const problems = (['Failed', 'Complete', 'FailureTarget'] as const)
    .filter(type => was(type) && !is(type))
    .map(type => `cannot disable the terminal ${type}=True condition`)
  if (was('SuccessCriteriaMet') && !is('SuccessCriteriaMet')) {
    problems.push('cannot disable the SuccessCriteriaMet=True condition')
  }
  if (was('Complete') && !was('SuccessCriteriaMet') && is('SuccessCriteriaMet')) {
    problems.push('cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions')
  }
  const errors = problems.map(problem => invalidWhole('status.conditions', problem))
  const mayShrink = completionMode === 'Indexed' && completions === parallelism
  const { failed = 0, succeeded = 0 } = status
  if (failed < (old.failed ?? 0)) {
    errors.push(invalid('status.failed', failed, 'cannot decrease the failed counter'))
  }
  if (succeeded < (old.succeeded ?? 0) && !mayShrink) {
    errors.push(invalid('status.succeeded', succeeded, 'cannot decrease the succeeded counter'))
  }
  return errors
}
