/** Rules and table columns of `batch`. */
import { Age } from '../../age.ts'
import { ageColumn, ageOf, nameColumn, nameOf, translateTimestampSince } from '../../columns.ts'
import type { CronJob, Job } from '../../generated/batch/v1.ts'
import type { Cell, GroupColumns, KindColumns } from '../../table-columns.ts'
import { parseTime } from '../../text/time.ts'
import { containerImages, containerNames, isTrue, selectorText } from '../cell-text.ts'
import {
  booleanColumn,
  containersColumn,
  imagesColumn,
  integerColumn,
  selectorColumn,
  textColumn,
} from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { cronJobRules } from './cron-job-rules.ts'
import { jobRules } from './job-rules.ts'

export const batchRules: GroupRules = { CronJob: cronJobRules, Job: jobRules }

const jobColumns: KindColumns<Job> = {
  columns: [
    nameColumn,
    textColumn('Status', 'Status of the job.'),
    textColumn('Completions', 'Succeeded pods out of the required completions.'),
    textColumn('Duration', 'Time required to complete the job.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (job: Unchecked<Job>) => {
    const containers = job.spec?.template?.spec?.containers
    return [
      nameOf(job),
      jobStatus(job),
      completionsText(job),
      durationCell(job),
      ageOf(job),
      containerNames(containers),
      containerImages(containers),
      selectorText(job.spec?.selector),
    ]
  },
}

const cronJobColumns: KindColumns<CronJob> = {
  columns: [
    nameColumn,
    textColumn('Schedule', 'Schedule in cron format.'),
    textColumn('Timezone', 'The time zone of the schedule.'),
    booleanColumn('Suspend', 'True if new jobs are suspended.'),
    integerColumn('Active', 'Number of active jobs.'),
    textColumn('Last Schedule', 'Time since the last scheduled job.'),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  cells: (object: Unchecked<CronJob>) => {
    const { spec = {}, status = {} } = object
    const job = spec.jobTemplate?.spec
    const containers = job?.template?.spec?.containers
    return [
      nameOf(object),
      spec.schedule ?? '',
      spec.timeZone ?? '<none>',
      suspendText(spec.suspend),
      status.active?.length ?? 0,
      status.lastScheduleTime ? translateTimestampSince(status.lastScheduleTime) : '<none>',
      ageOf(object),
      containerNames(containers),
      containerImages(containers),
      selectorText(job?.selector),
    ]
  },
}

function jobStatus({ metadata, status }: Unchecked<Job>): string {
  const conditions = status?.conditions
  if (isTrue(conditions, 'Complete')) return 'Complete'
  if (isTrue(conditions, 'Failed')) return 'Failed'
  if (metadata?.deletionTimestamp !== undefined) return 'Terminating'
  return passing.find(type => isTrue(conditions, type)) ?? 'Running'
}

/** Transitional conditions shown as the status of an unfinished job. */
const passing: readonly string[] = ['Suspended', 'FailureTarget', 'SuccessCriteriaMet']

/** Without `completions`, one success among the parallel pods is enough. */
function completionsText({ spec = {}, status }: Unchecked<Job>): string {
  const { completions, parallelism = 0 } = spec
  const succeeded = status?.succeeded ?? 0
  if (completions !== undefined) return `${succeeded}/${completions}`
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`
}

function durationCell({ status }: Unchecked<Job>): Cell {
  const { startTime, completionTime } = status ?? {}
  if (!startTime) return ''
  const completedMs = completionTime ? parseTime(completionTime) : undefined
  const age = translateTimestampSince(startTime)
  return completedMs !== undefined && age instanceof Age ? age.textAt(completedMs) : age
}

function suspendText(suspend: boolean | undefined): string {
  if (suspend === undefined) return '<unset>'
  return suspend ? 'True' : 'False'
}

export const batchColumns: GroupColumns = { CronJob: cronJobColumns, Job: jobColumns }
