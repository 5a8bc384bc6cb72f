import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CronJob, Job } from '#/api/generated/batch/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { nameOfJob } from './job-of-cron-job.ts'
import { planCronJob } from './plan.ts'
import { stored } from '../test-stored.ts'

const day = '2026-05-04'

/** `10:30`, optionally with a date before it. */
function moment(text: string): number {
  return Date.parse(`${text.includes('T') ? text : `${day}T${text}`}:00Z`)
}

interface Case {
  readonly spec?: Partial<CronJob['spec']>
  readonly created?: string
  readonly last?: string
  /** Names of jobs in `status.active`, with `-` after the name if the Job is gone. */
  readonly active?: string
  /** `name` is running, `name+09:30` completed at that time after running ten minutes, `name!` failed. */
  readonly jobs?: string
  readonly changed?: string
  readonly now?: string
}

function jobOf(text: string): Stored<Job> {
  const [, name = '', sign, time] = /^([^+!]+)([+!]?)(.*)$/.exec(text) ?? []
  const endMs = moment(time || '10:00')
  const at = formatTime(endMs)
  const startTime = formatTime(endMs - 600_000)
  return stored({
    metadata: { namespace: 'default', name, uid: name },
    status: {
      startTime,
      ...(sign === '+' && { completionTime: at, conditions: [{ type: 'Complete', status: 'True' }] }),
      ...(sign === '!' && { conditions: [{ type: 'Failed', status: 'True' }] }),
    },
  })
}

/** Notation: `start TIME`, `replace NAME`, `forget NAME`, `active NAMES`, event reasons, `next TIME`. */
function check(given: Case, expected: string): void {
  const active = (given.active ?? '').split(' ').filter(Boolean)
  const nowMs = moment(given.now ?? '10:00')
  const cronJob: Stored<CronJob> = stored({
    metadata: {
      namespace: 'default',
      name: 'cron',
      creationTimestamp: `${day}T${given.created ?? '09:30'}:00Z`,
    },
    spec: { schedule: '*/10 * * * *', jobTemplate: {}, ...given.spec },
    status: {
      ...(active.length > 0 && {
        active: active.map(name => ({ name: name.replace('-', ''), uid: name.replace('-', '') })),
      }),
      ...(given.last && { lastScheduleTime: `${day}T${given.last}:00Z` }),
    },
  })
  const plan = planCronJob({
    cronJob,
    jobs: (given.jobs ?? '').split(' ').filter(Boolean).map(jobOf),
    missing: new Set(active.filter(name => name.endsWith('-')).map(name => name.slice(0, -1))),
    changedMs: given.changed === undefined ? undefined : moment(given.changed),
    nowMs,
  })
  const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 16)
  const left = plan.status.active?.map(({ name }) => name) ?? []
  const actual = [
    ...(plan.startMs === undefined ? [] : [`start ${clock(plan.startMs)}`]),
    ...plan.replace.map(({ name }) => `replace ${name}`),
    ...plan.forget.map(({ metadata }) => `forget ${metadata.name}`),
    ...(left.length > 0 ? [`active ${left.join(',')}`] : []),
    ...(plan.status.lastSuccessfulTime ? [`succeeded ${plan.status.lastSuccessfulTime.slice(11, 16)}`] : []),
    ...plan.events.map(({ reason }) => reason),
    ...(plan.requeueAfterMs === undefined ? [] : [`next ${clock(nowMs + plan.requeueAfterMs)}`]),
  ].join(' ')
  assert.equal(actual, expected, JSON.stringify(given))
}

test('a job is started for the latest time that is due', () => {
  check({ now: '09:59', last: '09:50' }, 'next 10:00')
  check({ now: '10:00', last: '09:50' }, 'start 10:00 next 10:10')
  check({ now: '10:00', last: '10:00' }, 'next 10:10')
  check({ now: '10:05', last: '09:20' }, 'start 10:00 next 10:10')
  check({ now: '09:35' }, 'next 09:40')
  check({ now: '09:41' }, 'start 09:40 next 09:50')
  check({ now: '10:05', spec: { suspend: true } }, '')
  check({ now: '10:05', spec: { schedule: '@every 7m' } }, 'start 10:05 next 10:12')
  check({ now: '10:11', spec: { schedule: '@every 7m' }, last: '10:05' }, 'next 10:12')
  check(
    { now: '10:30', spec: { schedule: '30 12 * * *', timeZone: 'Europe/Berlin' } },
    'start 10:30 next 10:30',
  )
})

test('a job past startingDeadlineSeconds is not started, and many missed times give an event', () => {
  check({ now: '10:05', spec: { startingDeadlineSeconds: 200 } }, 'next 10:10')
  check({ now: '10:05', spec: { startingDeadlineSeconds: 301 } }, 'start 10:00 next 10:10')
  const minutely = { schedule: '* * * * *' }
  check({ now: '11:10', created: '09:30', spec: minutely }, 'start 11:10 next 11:11')
  check({ now: '11:11', created: '09:30', spec: minutely }, 'start 11:11 TooManyMissedTimes next 11:12')
  check({ now: '20:00', spec: { ...minutely, startingDeadlineSeconds: 600 } }, 'start 20:00 next 20:01')
  check({ now: '20:00', spec: minutely, last: '19:59' }, 'start 20:00 next 20:01')
})

test('times that were due before the schedule changed are skipped', () => {
  check({ now: '10:05', last: '09:20', changed: '10:04' }, 'next 10:10')
  check({ now: '10:10', last: '09:20', changed: '10:04' }, 'start 10:10 next 10:20')
})

test('concurrency policies: Allow, Forbid, Replace', () => {
  const active = { active: 'a', jobs: 'a', last: '09:50' }
  check({ ...active, spec: { concurrencyPolicy: 'Allow' } }, 'start 10:00 active a next 10:10')
  check({ ...active, spec: { concurrencyPolicy: 'Forbid' } }, 'active a JobAlreadyActive next 10:10')
  check({ ...active, spec: { concurrencyPolicy: 'Replace' } }, 'start 10:00 replace a active a next 10:10')
  check(
    { ...active, jobs: 'a+09:59', spec: { concurrencyPolicy: 'Forbid' } },
    'start 10:00 succeeded 09:59 SawCompletedJob next 10:10',
  )
  check(
    { ...active, active: 'a-', jobs: '', spec: { concurrencyPolicy: 'Forbid' } },
    'start 10:00 MissingJob next 10:10',
  )
})

test('active and finished jobs are recorded in the status', () => {
  const rest = { now: '09:59', last: '09:50' }
  check({ ...rest, active: 'a b', jobs: 'a! b' }, 'active b SawCompletedJob next 10:00')
  check({ ...rest, jobs: 'a+09:20 b+09:40 c!' }, 'succeeded 09:40 next 10:00')
  check({ ...rest, jobs: 'other' }, 'UnexpectedJob next 10:00')
  // The Job exists in the API server, but not in the informer yet.
  check({ ...rest, active: 'a' }, 'active a next 10:00')
})

test('a job started before a crash is not started again', () => {
  const name = nameOfJob({ metadata: { name: 'cron' } } as CronJob, moment('10:00'))
  assert.equal(name, `cron-${moment('10:00') / 60_000}`)
  check({ last: '09:50', jobs: name }, `active ${name} next 10:10`)
  check({ last: '09:50', jobs: `${name}+10:00` }, 'succeeded 10:00 next 10:10')
})

test('history limits delete the oldest finished jobs', () => {
  const rest = { now: '09:59', last: '09:50' }
  const spec = { successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0 }
  check(
    { ...rest, spec, jobs: 'a+09:20 b+09:10 c+09:30 d!' },
    'forget b forget a forget d succeeded 09:30 next 10:00',
  )
  check({ ...rest, jobs: 'a+09:20 b+09:10' }, 'succeeded 09:20 next 10:00')
})

test('invalid schedules and time zones give an event', () => {
  check({ spec: { schedule: '61 * * * *' } }, 'UnparseableSchedule')
  check({ spec: { schedule: '0 0 31 2 *' } }, 'InvalidSchedule')
  check({ spec: { timeZone: 'Mars/Base' } }, 'UnknownTimeZone')
  check({ spec: { schedule: 'TZ=Europe/Berlin 0 13 * * *' } }, 'UnsupportedSchedule next 11:00')
})
