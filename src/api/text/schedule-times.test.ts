import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseCronSchedule } from './cron-schedule.ts'
import { scheduleTimes } from './schedule-times.ts'
import { formatTimeIn } from './time-zone.ts'

const startMs = Date.parse('2026-01-01T00:00:00Z')

/** The next times after an instant, in local time of the zone. */
function check(schedule: string, timeZone: string, after: string, expected: readonly string[]): void {
  const { next, previous } = scheduleTimes(parseCronSchedule(schedule), { timeZone, startMs })
  const found: number[] = []
  let atMs = Date.parse(after)
  while (found.length < expected.length) {
    const nextMs = next(atMs)
    if (nextMs === undefined) break
    atMs = nextMs
    found.push(atMs)
  }
  assert.deepEqual(
    found.map(each => formatTimeIn(timeZone, each)),
    expected,
    schedule,
  )
  for (const [index, each] of found.entries()) {
    assert.equal(previous(each), each)
    assert.equal(previous((found[index + 1] ?? each + 1_000) - 1), each)
  }
}

test('next schedule times', () => {
  check('*/20 * * * *', 'UTC', '2026-01-01T00:00:00Z', [
    '2026-01-01T00:20:00Z',
    '2026-01-01T00:40:00Z',
    '2026-01-01T01:00:00Z',
  ])
  check('* * * * *', 'UTC', '2026-01-01T00:00:59.999Z', ['2026-01-01T00:01:00Z', '2026-01-01T00:02:00Z'])
  check('0 4 * * mon-fri', 'UTC', '2026-05-01T05:00:00Z', ['2026-05-04T04:00:00Z'])
  check('0 0 29 2 *', 'UTC', '2026-05-01T00:00:00Z', ['2028-02-29T00:00:00Z'])
  check('59 23 31 12 ?', 'UTC', '2026-05-01T00:00:00Z', ['2026-12-31T23:59:00Z', '2027-12-31T23:59:00Z'])
  check('@hourly', 'UTC', '2026-05-01T23:30:00Z', ['2026-05-02T00:00:00Z', '2026-05-02T01:00:00Z'])
  check('@weekly', 'UTC', '2026-05-01T00:00:00Z', ['2026-05-03T00:00:00Z'])
  check('@every 90m', 'UTC', '2026-01-01T02:00:00Z', ['2026-01-01T03:00:00Z', '2026-01-01T04:30:00Z'])
  check('@every 1h', 'UTC', '2025-06-01T00:00:00Z', ['2026-01-01T01:00:00Z'])
  check('CRON_TZ=Asia/Tokyo 0 4 * * *', 'UTC', '2026-01-01T00:00:00Z', ['2026-01-01T19:00:00Z'])
})

test('if both day fields are restricted, one match is enough', () => {
  check('0 0 13 * fri', 'UTC', '2026-01-10T00:00:00Z', [
    '2026-01-13T00:00:00Z',
    '2026-01-16T00:00:00Z',
    '2026-01-23T00:00:00Z',
  ])
  check('0 0 */13 * fri', 'UTC', '2026-01-10T00:00:00Z', [
    '2026-01-14T00:00:00Z',
    '2026-01-16T00:00:00Z',
    '2026-01-23T00:00:00Z',
  ])
  check('0 0 */1 * fri', 'UTC', '2026-01-10T00:00:00Z', ['2026-01-16T00:00:00Z', '2026-01-23T00:00:00Z'])
})

test('the search for impossible dates is bounded', () => {
  check('0 0 31 2 *', 'UTC', '2026-01-01T00:00:00Z', [])
  const { next, previous } = scheduleTimes(parseCronSchedule('0 0 30 feb *'), {
    timeZone: 'Europe/Berlin',
    startMs,
  })
  assert.equal(next(startMs), undefined)
  assert.equal(previous(startMs), undefined)
})

test('daylight saving time: skipped times do not occur, repeated times occur twice', () => {
  check('30 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', [
    '2026-03-28T02:30:00+01:00',
    '2026-03-30T02:30:00+02:00',
  ])
  check('0 * * * *', 'Europe/Berlin', '2026-03-29T00:30:00Z', [
    '2026-03-29T03:00:00+02:00',
    '2026-03-29T04:00:00+02:00',
  ])
  check('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', [
    '2026-10-25T02:30:00+02:00',
    '2026-10-25T02:30:00+01:00',
    '2026-10-26T02:30:00+01:00',
  ])
  check('0 4 * * *', 'America/New_York', '2026-03-07T12:00:00Z', [
    '2026-03-08T04:00:00-04:00',
    '2026-03-09T04:00:00-04:00',
  ])
  // Here daylight saving time skips midnight itself.
  check('0 0 * * *', 'Africa/Cairo', '2026-04-22T12:00:00Z', [
    '2026-04-23T00:00:00+02:00',
    '2026-04-25T00:00:00+03:00',
  ])
  // A shift of half an hour, in the southern hemisphere.
  check('15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T20:00:00Z', [
    '2026-10-05T02:15:00+11:00',
    '2026-10-06T02:15:00+11:00',
  ])
  check('45 23 * * *', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', ['2026-01-01T23:45:00+05:45'])
})

test('next and previous schedule times are consistent', () => {
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe')
  const text = fc
    .tuple(
      fc.constantFrom('*', '*/7', '30', '0,59'),
      fc.constantFrom('*', '2', '1-3', '0'),
      fc.constantFrom('*', '25-31', '8'),
      fc.constantFrom('*', 'mar,oct'),
      fc.constantFrom('*', 'sun'),
    )
    .map(fields => fields.join(' '))
  const minute = fc.integer({
    min: Date.parse('2026-01-01T00:00:00Z') / 60_000,
    max: Date.parse('2027-01-01T00:00:00Z') / 60_000,
  })
  fc.assert(
    fc.property(zone, text, minute, (timeZone, schedule, minutes) => {
      const { next, previous } = scheduleTimes(parseCronSchedule(schedule), { timeZone, startMs })
      const fromMs = minutes * 60_000
      const nextMs = next(fromMs)
      assert.ok(nextMs !== undefined && nextMs > fromMs)
      assert.equal(previous(nextMs), nextMs)
      const before = previous(nextMs - 1)
      assert.ok(before !== undefined && before <= fromMs)
      assert.equal(next(before), nextMs)
    }),
    { numRuns: 200 },
  )
})
