import { CronScheduleError, parseCronSchedule } from '#/api/text/cron-schedule.ts'
import { scheduleTimes, type ScheduleTimes } from '#/api/text/schedule-times.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { CronJob, CronJobStatus, Job } from '#/api/generated/batch/v1.ts'
import type { ObjectReference } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import { isTimeZone } from '#/api/text/time-zone.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import { finishedCondition, isJobFinished } from '../shared/finished-jobs.ts'
import { nameOfJob } from './job-of-cron-job.ts'

export interface CronJobPlan {
  /** Finished jobs beyond the history limits. */
  readonly forget: readonly Job[]
  /** Active jobs to delete before the next one starts (concurrency policy Replace). */
  readonly replace: readonly ObjectReference[]
  /** Scheduled time of the Job to create. */
  readonly startMs: number | undefined
  /** Does not include the Job to create. Identical to the CronJob's status if nothing changes. */
  readonly status: CronJobStatus
  readonly events: readonly EventContent[]
  readonly requeueAfterMs: number | undefined
}

export interface CronJobWorld {
  readonly cronJob: Stored<CronJob>
  /** All jobs that the CronJob controls. */
  readonly jobs: readonly Stored<Job>[]
  /** The uids in `status.active` that no longer have a Job. */
  readonly missing: ReadonlySet<string>
  /** Time of the last observed schedule change; times due before it are not caught up on. */
  readonly changedMs: number | undefined
  readonly nowMs: number
}

export function planCronJob(world: CronJobWorld): CronJobPlan {
  const { cronJob, jobs } = world
  const forget = isBeingDeleted(cronJob) ? [] : jobsToForget(cronJob, jobs)
  const seen = lookBack(world)
  const start = planStart(world, seen.status.active ?? [])
  const { startMs, status: startStatus = {}, replace = [], requeueAfterMs } = start
  const next = { ...seen.status, ...startStatus }
  const before = cronJob.status ?? {}
  return {
    forget,
    replace,
    startMs,
    requeueAfterMs,
    status: equalJson(withoutEmpty(before), withoutEmpty(next)) ? before : withoutEmpty(next),
    events: [...seen.events, ...(start.events ?? [])],
  }
}

function withoutEmpty({ active, ...rest }: CronJobStatus): CronJobStatus {
  return active === undefined || active.length === 0 ? rest : { active, ...rest }
}

/** The status without an active job that has been deleted. */
export function withoutActive(status: CronJobStatus, removed: ObjectReference): CronJobStatus {
  return withoutEmpty({ ...status, active: status.active?.filter(({ uid }) => uid !== removed.uid) })
}

/** The oldest finished jobs beyond the history limits. */
function jobsToForget({ spec }: CronJob, jobs: readonly Stored<Job>[]): readonly Job[] {
  const limits = { Complete: spec?.successfulJobsHistoryLimit, Failed: spec?.failedJobsHistoryLimit }
  return Object.entries(limits).flatMap(([type, limit]) => {
    if (limit === undefined) return []
    const finished = jobs.filter(job => finishedCondition(job)?.type === type && !isBeingDeleted(job))
    return finished.toSorted(byStart).slice(0, Math.max(0, finished.length - limit))
  })
}

/** Jobs without a start time sort last. */
function byStart(left: Stored<Job>, right: Stored<Job>): number {
  const [leftMs, rightMs] = [left, right].map(job => parseTime(job.status?.startTime ?? '') ?? Infinity)
  if (leftMs !== rightMs) return leftMs! < rightMs! ? -1 : 1
  return left.metadata.name < right.metadata.name ? -1 : 1
}

interface Seen {
  readonly status: CronJobStatus
  readonly events: readonly EventContent[]
}

/** Removes finished and missing jobs from `status.active` and updates `lastSuccessfulTime`. */
function lookBack({ cronJob, jobs, missing }: CronJobWorld): Seen {
  const { status = {} } = cronJob
  const events: EventContent[] = []
  const byUid = new Map(jobs.map(job => [job.metadata.uid, job]))
  const active = (status.active ?? []).filter(({ uid = '', name }) => {
    const job = byUid.get(uid)
    const condition = job && finishedCondition(job)
    if (condition) {
      const message = `Saw completed job: ${name}, condition: ${condition.type}`
      events.push({ type: 'Normal', reason: 'SawCompletedJob', message })
    } else if (missing.has(uid)) {
      events.push({ type: 'Normal', reason: 'MissingJob', message: `Active job went missing: ${name}` })
    }
    return condition === undefined && !missing.has(uid)
  })
  const succeeded = jobs
    .filter(job => finishedCondition(job)?.type === 'Complete')
    .map(job => parseTime(job.status?.completionTime ?? ''))
    .filter(timeMs => timeMs !== undefined)
  const lastMs = Math.max(parseTime(status.lastSuccessfulTime ?? '') ?? -Infinity, ...succeeded)
  return {
    status: { ...status, active, ...(lastMs > -Infinity && { lastSuccessfulTime: formatTime(lastMs) }) },
    events,
  }
}

type Start = Partial<Pick<CronJobPlan, 'startMs' | 'status' | 'replace' | 'events' | 'requeueAfterMs'>>

function planStart(world: CronJobWorld, active: readonly ObjectReference[]): Start {
  const { cronJob, jobs, nowMs } = world
  if (isBeingDeleted(cronJob)) return {}
  const known = new Set(active.map(({ uid }) => uid))
  const strangers = jobs.filter(job => {
    return !isJobFinished(job) && !isBeingDeleted(job) && !known.has(job.metadata.uid)
  })
  if (cronJob.spec?.suspend === true) return { events: unexpected(strangers) }
  const { times, problem, note } = readSchedule(cronJob)
  if (times === undefined) return { events: [...unexpected(strangers), ...(problem ? [problem] : [])] }
  const due = findDue(world, times)
  const events = [...(note ? [note] : []), ...due.events]
  const nextMs = times.next(nowMs)
  const requeueAfterMs = nextMs === undefined ? undefined : nextMs - nowMs + laterMs
  const dueName = due.dueMs === undefined ? undefined : nameOfJob(cronJob, due.dueMs)
  const others = strangers.filter(({ metadata }) => metadata.name !== dueName)
  const base = { events: [...unexpected(others), ...events], requeueAfterMs }
  if (due.dueMs === undefined || active.some(({ name }) => name === dueName)) return base
  const started = jobs.find(({ metadata }) => metadata.name === dueName)
  // The Job was created, but the status update failed.
  if (started !== undefined) return { ...base, status: withStarted({ active }, started, due.dueMs) }
  const { concurrencyPolicy } = cronJob.spec ?? {}
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    return { ...base, events: [...base.events, alreadyActive] }
  }
  const replace = concurrencyPolicy === 'Replace' ? active : []
  return { ...base, startMs: due.dueMs, replace }
}

/**
 * Margin for differences between timer and clock: waking up late is harmless, waking up early costs another
 * reconcile.
 */
const laterMs = 100

const alreadyActive: EventContent = {
  type: 'Normal',
  reason: 'JobAlreadyActive',
  message: 'Not starting job because prior execution is running and concurrency policy is Forbid',
}

function unexpected(strangers: readonly Job[]): readonly EventContent[] {
  return strangers.map(({ metadata }) => {
    const message = `Saw a job that the controller did not create or forgot: ${metadata.name}`
    return { type: 'Warning', reason: 'UnexpectedJob', message }
  })
}

/** Adds a created Job to the status; a Job that has already finished is not listed as active. */
export function withStarted(status: CronJobStatus, job: Job, startMs: number): CronJobStatus {
  const { apiVersion, kind, metadata } = job
  const { namespace, name, uid, resourceVersion } = metadata
  const reference: ObjectReference = {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  }
  const active = [...(status.active ?? []), ...(isJobFinished(job) ? [] : [reference])]
  return withoutEmpty({ ...status, active, lastScheduleTime: formatTime(startMs) })
}

interface Schedule {
  /** Undefined if the schedule is invalid. */
  readonly times?: ScheduleTimes
  readonly problem?: EventContent
  readonly note?: EventContent
}

function readSchedule(cronJob: Stored<CronJob>): Schedule {
  const { schedule, timeZone } = cronJob.spec
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = `invalid timeZone: ${quote(timeZone)}: unknown time zone ${timeZone}`
    return { problem: { type: 'Warning', reason: 'UnknownTimeZone', message } }
  }
  try {
    const parsed = parseCronSchedule(schedule)
    const startMs = lastStartMs(cronJob)
    const times = scheduleTimes(parsed, { timeZone: timeZone ?? 'UTC', startMs })
    if (times.next(startMs) === undefined) {
      const message = `invalid schedule: ${schedule} : time difference between two schedules is less than 1 second`
      return { problem: { type: 'Warning', reason: 'InvalidSchedule', message } }
    }
    return { times, ...(schedule.includes('TZ') && { note: unsupported(schedule) }) }
  } catch (error) {
    if (!(error instanceof CronScheduleError)) throw error
    const message = `unparseable schedule: ${quote(schedule)} : ${error.message}`
    return { problem: { type: 'Warning', reason: 'UnparseableSchedule', message } }
  }
}

function unsupported(schedule: string): EventContent {
  const page = 'https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/'
  const used = `CRON_TZ or TZ used in schedule ${quote(schedule)}`
  const message = `${used} is not officially supported, see ${page} for more details`
  return { type: 'Warning', reason: 'UnsupportedSchedule', message }
}

/** `lastScheduleTime`, or else the creation time of the CronJob. */
function lastStartMs({ metadata, status }: Stored<CronJob>): number {
  return parseTime(status?.lastScheduleTime ?? '') ?? parseTime(metadata.creationTimestamp) ?? 0
}

/** More missed start times than this produce a warning event. */
const missedMax = 100

interface Due {
  /** The most recent unused scheduled time; earlier ones are skipped. */
  readonly dueMs?: number
  readonly events: readonly EventContent[]
}

function findDue({ cronJob, changedMs = -Infinity, nowMs }: CronJobWorld, times: ScheduleTimes): Due {
  const { startingDeadlineSeconds } = cronJob.spec ?? {}
  const deadlineMs =
    startingDeadlineSeconds === undefined ? -Infinity : nowMs - Number(startingDeadlineSeconds) * 1_000
  const afterMs = Math.max(lastStartMs(cronJob), changedMs, deadlineMs)
  const dueMs = times.previous(nowMs)
  if (dueMs === undefined || dueMs <= afterMs) return { events: [] }
  let missed = 0
  for (
    let timeMs = times.next(afterMs);
    timeMs !== undefined && timeMs <= nowMs && missed <= missedMax;
    timeMs = times.next(timeMs)
  )
    missed++
  return { dueMs, events: missed > missedMax ? [tooManyMissed] : [] }
}

const tooManyMissed: EventContent = {
  type: 'Warning',
  reason: 'TooManyMissedTimes',
  message: 'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
}
