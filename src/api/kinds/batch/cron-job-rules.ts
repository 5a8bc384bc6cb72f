/** Rules of CronJob. */
import { CronScheduleError, parseCronSchedule } from '../../text/cron-schedule.ts'
import { enumValues } from '../../definitions.ts'
import { invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type { CronJob, CronJobSpec, JobTemplateSpec } from '../../generated/batch/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { isTimeZone } from '../../text/time-zone.ts'
import { validateChoice, validateNonNegative } from '../validation/field-checks.ts'
import { prepareTemplate } from '../pod/pod-preparation.ts'
import { namesOfPods, warningsForName } from '../pod/pod-warnings.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withDefaults, withField, withMissing } from '../../copy-on-write.ts'
import { withJobTemplateDefaults } from './job-defaults.ts'
import { validateJobSpec } from './job-validation.ts'
import { warningsForJobSpec } from './job-rules.ts'

export const cronJobRules: KindRules<CronJob> = {
  tracksGeneration: true,
  withDefaults: withCronJobDefaults,
  prepareForCreate: object => ({ ...withPreparedTemplate(object), status: {} }),
  prepareForUpdate: withPreparedTemplate,
  validate({ metadata, spec }) {
    const { name = '' } = metadata
    const errors = validateSpec('spec', spec ?? {}, undefined)
    if (name.length <= nameCharactersMax) return errors
    return [...errors, invalid('metadata.name', name, `must be no more than ${nameCharactersMax} characters`)]
  },
  validateUpdate: (object, old) => validateSpec('spec', object.spec ?? {}, old.spec ?? {}),
  warnings,
}

/** Job names append up to 11 characters and are used as label values (at most 63 characters). */
const nameCharactersMax = 52

function withCronJobDefaults(object: CronJob): CronJob {
  return withField(object, 'spec', spec => {
    const complete = withMissing(withDefaults(spec, { concurrencyPolicy: 'Allow' }), {
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
      jobTemplate: {},
    })
    return withField(complete, 'jobTemplate', template => {
      return withField(withMissing(template, { spec: { template: {} } }), 'spec', withJobTemplateDefaults)
    })
  })
}

function withPreparedTemplate(object: CronJob): CronJob {
  return withField(object, 'spec', spec =>
    withField(spec, 'jobTemplate', job =>
      withField(job, 'spec', jobSpec => {
        return withField(jobSpec, 'template', prepareTemplate)
      }),
    ),
  )
}

type UncheckedSpec = Partial<CronJobSpec>

function validateSpec(field: string, spec: UncheckedSpec, old: UncheckedSpec | undefined): FieldError[] {
  const { schedule, timeZone, startingDeadlineSeconds, concurrencyPolicy, jobTemplate } = spec
  const zoneErrors =
    old === undefined || old.timeZone !== timeZone ? validateTimeZone(`${field}.timeZone`, timeZone) : []
  return [
    ...(schedule ? validateSchedule(`${field}.schedule`, spec, old) : [required(`${field}.schedule`, '')]),
    ...validateNonNegative(`${field}.startingDeadlineSeconds`, startingDeadlineSeconds),
    ...zoneErrors,
    ...validateChoice(`${field}.concurrencyPolicy`, concurrencyPolicy, enumValues('batch.ConcurrencyPolicy')),
    ...validateJobTemplate(`${field}.jobTemplate.spec`, jobTemplate ?? {}),
    ...validateNonNegative(`${field}.successfulJobsHistoryLimit`, spec.successfulJobsHistoryLimit),
    ...validateNonNegative(`${field}.failedJobsHistoryLimit`, spec.failedJobsHistoryLimit),
  ]
}

/** A time zone in the schedule is rejected, except in an update of an object that already had one. */
function validateSchedule(field: string, spec: UncheckedSpec, old: UncheckedSpec | undefined): FieldError[] {
  const { schedule = '', timeZone } = spec
  const problem = scheduleProblem(schedule)
  const errors = problem === undefined ? [] : [invalid(field, schedule, problem)]
  if (!schedule.includes('TZ')) return errors
  if (!old?.schedule?.includes('TZ')) {
    return [
      ...errors,
      invalid(field, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'),
    ]
  }
  if (timeZone === undefined) return errors
  return [...errors, invalid(field, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule')]
}

function scheduleProblem(schedule: string): string | undefined {
  try {
    parseCronSchedule(schedule)
    return undefined
  } catch (error) {
    if (error instanceof CronScheduleError) return error.message
    throw error
  }
}

function validateTimeZone(field: string, timeZone: string | undefined): FieldError[] {
  if (timeZone === undefined) return []
  if (timeZone === '') return [invalid(field, timeZone, 'timeZone must be nil or non-empty string')]
  if (timeZone.toLowerCase() === 'local') {
    const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'
    return [invalid(field, timeZone, detail)]
  }
  const isWellFormed = timeZone.split('/').every(part => {
    return part !== '.' && part !== '..' && /^(?!-)[A-Za-z.\-_0-9+]{1,14}$/.test(part)
  })
  return isWellFormed && isTimeZone(timeZone)
    ? []
    : [invalid(field, timeZone, `unknown time zone ${timeZone}`)]
}

function validateJobTemplate(field: string, { spec }: JobTemplateSpec): FieldError[] {
  const errors = validateJobSpec(field, spec ?? {})
  if (spec?.selector !== undefined) {
    errors.push(invalid(`${field}.selector`, spec.selector, '`selector` will be auto-generated'))
  }
  return spec?.manualSelector === true
    ? [...errors, notSupported(`${field}.manualSelector`, true, ['nil', 'false'])]
    : errors
}

function warnings({ metadata, spec }: CronJob, old: CronJob | undefined): string[] {
  const isSame = old !== undefined && semanticEqual(spec, old.spec)
  const ofJob = isSame ? [] : warningsForJobSpec('spec.jobTemplate.spec', spec?.jobTemplate?.spec ?? {})
  if (old === undefined) return [...warningsForName(metadata.name, namesOfPods), ...ofJob]
  if (!spec?.schedule?.includes('TZ')) return ofJob
  const page = 'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/'
  return [
    ...ofJob,
    `cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see ${page} for more details`,
  ]
}
