/**
 * Parser for cron schedules: `0 4 * * mon-fri`, `@daily`, `@every 1h30m`. Five fields for minute, hour, day
 * of month, month and day of week, each a list of ranges with steps. Parsing takes one pass and bounded
 * memory for any input. `schedule-times.ts` computes the times in a time zone.
 * https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/#schedule-syntax
 */
import { tryParseDuration } from './duration.ts'
import { quote } from './quote.ts'
import { isTimeZone } from './time-zone.ts'

export type CronSchedule = CalendarSchedule | IntervalSchedule

/**
 * Due in each minute that matches all fields; if both day fields are restricted, matching one of them is
 * enough.
 */
export interface CalendarSchedule {
  readonly kind: 'calendar'
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly daysOfMonth: ReadonlySet<number>
  /** 1 is January. */
  readonly months: ReadonlySet<number>
  /** 0 is Sunday. */
  readonly daysOfWeek: ReadonlySet<number>
  /** True if the day of month is unrestricted, which is not the same as listing every day. */
  readonly anyDayOfMonth: boolean
  readonly anyDayOfWeek: boolean
  /** Time zone in the schedule itself, accepted for old objects: `CRON_TZ=Asia/Tokyo 0 4 * * *`. */
  readonly timeZone?: string
}

export interface IntervalSchedule {
  readonly kind: 'interval'
  readonly everySeconds: number
}

/** The reason that a schedule is invalid, worded as in the API. */
export class CronScheduleError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'CronScheduleError'
  }
}

/** Throws CronScheduleError if the text is not a schedule. */
export function parseCronSchedule(text: string): CronSchedule {
  if (text === '') throw new CronScheduleError('empty spec string')
  const { timeZone, rest } = splitTimeZone(text)
  if (rest.startsWith('@')) return parseDescriptor(rest, timeZone)
  const texts = rest.split(/\s+/, fieldsCountMax).filter(field => field !== '')
  const [minutes = '', hours = '', daysOfMonth = '', months = '', daysOfWeek = ''] = texts
  if (texts.length !== 5) {
    throw new CronScheduleError(`expected exactly 5 fields, found ${texts.length}: [${texts.join(' ')}]`)
  }
  return {
    kind: 'calendar',
    minutes: parseField(minutes, minuteBounds),
    hours: parseField(hours, hourBounds),
    daysOfMonth: parseField(daysOfMonth, dayOfMonthBounds),
    months: parseField(months, monthBounds),
    daysOfWeek: parseField(daysOfWeek, dayOfWeekBounds),
    anyDayOfMonth: isAny(daysOfMonth),
    anyDayOfWeek: isAny(daysOfWeek),
    ...(timeZone !== undefined && { timeZone }),
  }
}

/** Upper bound for counting the fields of an invalid schedule. */
const fieldsCountMax = 100

interface Bounds {
  readonly low: number
  readonly high: number
  readonly names: ReadonlyMap<string, number>
}

const noNames: ReadonlyMap<string, number> = new Map()
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const minuteBounds: Bounds = { low: 0, high: 59, names: noNames }
const hourBounds: Bounds = { low: 0, high: 23, names: noNames }
const dayOfMonthBounds: Bounds = { low: 1, high: 31, names: noNames }
const monthBounds: Bounds = {
  low: 1,
  high: 12,
  names: new Map(monthNames.map((name, index) => [name, index + 1])),
}
const dayOfWeekBounds: Bounds = {
  low: 0,
  high: 6,
  names: new Map(dayNames.map((name, index) => [name, index])),
}

const descriptors: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

function splitTimeZone(text: string): { timeZone?: string; rest: string } {
  const [, timeZone, rest] = /^(?:TZ|CRON_TZ)=(\S*)(.*)$/s.exec(text) ?? []
  if (timeZone === undefined || rest === undefined) return { rest: text }
  if (rest === '') throw new CronScheduleError('missing schedule after the time zone')
  if (!isTimeZone(timeZone)) {
    throw new CronScheduleError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`)
  }
  return { timeZone, rest: rest.trim() }
}

function parseDescriptor(text: string, timeZone: string | undefined): CronSchedule {
  const every = '@every '
  if (text.startsWith(every)) {
    const duration = text.slice(every.length)
    const nanoseconds = tryParseDuration(duration)
    if (nanoseconds === undefined) {
      const reason = `time: invalid duration ${quote(duration)}`
      throw new CronScheduleError(`failed to parse duration ${text}: ${reason}`)
    }
    // Rounded down to whole seconds, at least one.
    return { kind: 'interval', everySeconds: Math.max(Number(nanoseconds / 1_000_000_000n), 1) }
  }
  const schedule = descriptors.get(text)
  if (schedule === undefined) throw new CronScheduleError(`unrecognized descriptor: ${text}`)
  return parseCronSchedule(timeZone === undefined ? schedule : `CRON_TZ=${timeZone} ${schedule}`)
}

/** True if one of the ranges is `*` or `?`. A step above 1 restricts the field. */
function isAny(text: string): boolean {
  return text.split(',').some(range => /^[*?](?:\/0*1)?$/.test(range))
}

function parseField(text: string, bounds: Bounds): ReadonlySet<number> {
  const values = new Set<number>()
  for (const range of text.split(',')) {
    if (range === '') continue
    const { first, last, step } = parseRange(range, bounds)
    for (let value = first; value <= last; value += step) values.add(value)
  }
  return values
}

interface Range {
  readonly first: number
  readonly last: number
  readonly step: number
}

/**
 * Parses `*`, `5`, `1-5`, each with an optional step: `1-5/2`. A single number with a step extends to the
 * maximum.
 */
function parseRange(text: string, bounds: Bounds): Range {
  const [range = '', stepText, ...moreSteps] = text.split('/')
  const [from = '', to, ...moreEnds] = range.split('-')
  const isOpen = from === '*' || from === '?'
  if (moreEnds.length > 0) throw new CronScheduleError(`too many hyphens: ${text}`)
  const first = isOpen ? bounds.low : parseNumber(from, bounds.names)
  if (moreSteps.length > 0) throw new CronScheduleError(`too many slashes: ${text}`)
  const step = stepText === undefined ? 1 : parseNumber(stepText, noNames)
  const last = lastOf({ isOpen, isStepped: stepText !== undefined, first, to }, bounds)
  if (first < bounds.low) {
    throw new CronScheduleError(`beginning of range (${first}) below minimum (${bounds.low}): ${text}`)
  }
  if (last > bounds.high) {
    throw new CronScheduleError(`end of range (${last}) above maximum (${bounds.high}): ${text}`)
  }
  if (first > last) {
    throw new CronScheduleError(`beginning of range (${first}) beyond end of range (${last}): ${text}`)
  }
  if (step === 0) throw new CronScheduleError(`step of range should be a positive number: ${text}`)
  return { first, last, step }
}

interface RangeStart {
  readonly isOpen: boolean
  readonly isStepped: boolean
  readonly first: number
  readonly to: string | undefined
}

function lastOf({ isOpen, isStepped, first, to }: RangeStart, { high, names }: Bounds): number {
  if (isOpen) return high
  if (to !== undefined) return parseNumber(to, names)
  return isStepped ? high : first
}

/** Maximum number of digits; valid values have at most two. */
const digitsMax = 9

function parseNumber(text: string, names: ReadonlyMap<string, number>): number {
  const named = names.get(text.toLowerCase())
  if (named !== undefined) return named
  if (/^-[0-9]+$/.test(text)) throw new CronScheduleError(`negative number (${text}) not allowed: ${text}`)
  if (/^\+?[0-9]+$/.test(text) && text.length <= digitsMax) return Number(text)
  const reason = /^[+-]?[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax'
  throw new CronScheduleError(
    `failed to parse int from ${text}: strconv.Atoi: parsing ${quote(text)}: ${reason}`,
  )
}
