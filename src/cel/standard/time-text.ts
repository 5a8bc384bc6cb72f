/** Timestamps and durations as text. */
import { tryParseDuration } from '#/api/text/duration.ts'
import { Duration, Timestamp } from '../value.ts'
import { plainDouble } from './double-text.ts'
import { isTimestamp } from './limits.ts'

const second = 1_000_000_000n
/** Longer texts are rejected without parsing. */
const charactersMax = 1_000
const pattern =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/

/** RFC 3339 with any fraction; undefined if invalid or outside the years 1 to 9999. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = text.length > charactersMax ? null : pattern.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, seconds] = match.slice(1, 7).map(Number)
  const [fraction = '', sign = '+', offsetHour = '0', offsetMinute = '0'] = match.slice(7)
  if (hour! > 23 || minute! > 59 || seconds! > 59) return undefined
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const date = new Date(0)
  date.setUTCFullYear(year!, month! - 1, day)
  if (date.getUTCMonth() !== month! - 1 || date.getUTCDate() !== day) return undefined
  date.setUTCHours(hour!, minute, seconds)
  const offset = (Number(offsetHour) * 60 + Number(offsetMinute)) * (sign === '-' ? -60 : 60)
  const whole = BigInt(date.getTime() / 1000 - offset)
  const nanoseconds = whole * second + BigInt(fraction.slice(0, 9).padEnd(9, '0'))
  return isTimestamp(nanoseconds) ? new Timestamp(nanoseconds) : undefined
}

/** RFC 3339 in UTC, with the significant digits of the fraction. */
export function showTimestamp({ nanoseconds }: Timestamp): string {
  const rest = ((nanoseconds % second) + second) % second
  const whole = new Date(Number((nanoseconds - rest) / 1_000_000n)).toISOString().slice(0, 19)
  const fraction = rest.toString().padStart(9, '0').replace(/0+$/, '')
  return `${whole}${fraction === '' ? '' : `.${fraction}`}Z`
}

/** Go's syntax: `1h30m`. */
export function parseDuration(text: string): Duration | undefined {
  const nanoseconds = text.length > charactersMax ? undefined : tryParseDuration(text)
  return nanoseconds === undefined ? undefined : new Duration(nanoseconds)
}

/** In seconds: `5400s`, `0.5s`. */
export function showDuration({ nanoseconds }: Duration): string {
  const seconds = Number(nanoseconds / second) + Number(nanoseconds % second) / 1e9
  return `${plainDouble(seconds)}s`
}
