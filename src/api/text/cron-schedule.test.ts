import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CronScheduleError, parseCronSchedule } from './cron-schedule.ts'

/** The five fields as lists of numbers, `*` where unrestricted; or the interval; or the error. */
function show(text: string): string {
  try {
    const schedule = parseCronSchedule(text)
    if (schedule.kind === 'interval') return `every ${schedule.everySeconds} s`
    const { minutes, hours, daysOfMonth, months, daysOfWeek, anyDayOfMonth, anyDayOfWeek, timeZone } =
      schedule
    const list = (values: ReadonlySet<number>, size: number): string => {
      return values.size === size ? '*' : [...values].sort((a, b) => a - b).join(',')
    }
    return [
      list(minutes, 60),
      list(hours, 24),
      list(daysOfMonth, 31),
      list(months, 12),
      list(daysOfWeek, 7),
      ...(anyDayOfMonth ? [] : ['day']),
      ...(anyDayOfWeek ? [] : ['weekday']),
      ...(timeZone ? [timeZone] : []),
    ].join(' ')
  } catch (error) {
    assert.ok(error instanceof CronScheduleError, String(error))
    return error.message
  }
}

test('cron schedules are parsed', () => {
  const cases: Readonly<Record<string, string>> = {
    '* * * * *': '* * * * *',
    '0 4 * * 1-5': '0 4 * * 1,2,3,4,5 weekday',
    '*/15 0-6/3 1,15 jan-MAR ?': '0,15,30,45 0,3,6 1,15 1,2,3 * day',
    '50/5 22 * * Sun': '50,55 22 * * 0 weekday',
    '  5  5 5 5 5  ': '5 5 5 5 5 day weekday',
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@weekly': '0 0 * * 0 weekday',
    '@monthly': '0 0 1 * * day',
    '@yearly': '0 0 1 1 * day',
    '@every 1h30m': 'every 5400 s',
    '@every 10ms': 'every 1 s',
    'CRON_TZ=Asia/Tokyo 0 4 * * *': '0 4 * * * Asia/Tokyo',
    'TZ=UTC @daily': '0 0 * * * UTC',
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(show(text), expected, text)
})

test('invalid cron schedules are rejected', () => {
  const cases: Readonly<Record<string, string>> = {
    '': 'empty spec string',
    '* * * *': 'expected exactly 5 fields, found 4: [* * * *]',
    '* * * * * *': 'expected exactly 5 fields, found 6: [* * * * * *]',
    '60 * * * *': 'end of range (60) above maximum (59): 60',
    '* * 0 * *': 'beginning of range (0) below minimum (1): 0',
    '* * * * 7': 'end of range (7) above maximum (6): 7',
    '5-1 * * * *': 'beginning of range (5) beyond end of range (1): 5-1',
    '1-2-3 * * * *': 'too many hyphens: 1-2-3',
    '1/2/3 * * * *': 'too many slashes: 1/2/3',
    '*/0 * * * *': 'step of range should be a positive number: */0',
    'a * * * *': 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax',
    '99999999999999999999 * * * *':
      'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
    '@often': 'unrecognized descriptor: @often',
    '@every x': 'failed to parse duration @every x: time: invalid duration "x"',
    'TZ=Mars/Base 0 0 * * *': 'provided bad location Mars/Base: unknown time zone Mars/Base',
  }
  for (const [text, expected] of Object.entries(cases)) assert.equal(show(text), expected, text)
})

test('parsing any text as cron schedule throws at most CronScheduleError, in linear time', () => {
  const signs = ['*', '/', '-', ',', ' ', '?', '@', 'TZ=', '@every ']
  const piece = fc.constantFrom(...signs, '5', '59', 'mon', 'x', '0'.repeat(30))
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      show(pieces.join(''))
    }),
    { numRuns: 500 },
  )
  for (const sign of ['*,', '1-', ' ', '* ', '@']) {
    const text = sign.repeat(100_000)
    show(text)
    show(`${text} * * * *`)
  }
})
