/**
 * API timestamps in RFC 3339 format. `Time` has whole seconds and `MicroTime` six fractional digits, both in
 * UTC. In code an instant is milliseconds since 1970, with fractions; in API objects it remains a string.
 */

/** Milliseconds since 1970; undefined if the text is not a `Time`. Any offset and fraction are accepted. */
export function parseTime(text: string): number | undefined {
  return parseMoment(text, timePattern)
}

/** Milliseconds since 1970 with fractions. A `MicroTime` has exactly six fractional digits. */
export function parseMicroTime(text: string): number | undefined {
  return parseMoment(text, microTimePattern)
}

export function isTime(text: string): boolean {
  return parseTime(text) !== undefined
}

export function isMicroTime(text: string): boolean {
  return parseMicroTime(text) !== undefined
}

/** Truncated to seconds: `2026-05-04T03:02:01Z`. Throws RangeError outside the years 0 to 9999. */
export function formatTime(milliseconds: number): string {
  return `${formatSecond(Math.floor(milliseconds / 1000))}Z`
}

/** Rounded to microseconds: `2026-05-04T03:02:01.000250Z`. Throws RangeError like `formatTime`. */
export function formatMicroTime(milliseconds: number): string {
  const microseconds = Math.round(milliseconds * 1000)
  const second = Math.floor(microseconds / 1e6)
  return `${formatSecond(second)}.${String(microseconds - second * 1e6).padStart(6, '0')}Z`
}

/** The form in which the API server returns a `Time`: in UTC, without a fraction. */
export function normalizeTime(text: string): string | undefined {
  if (canonicalTime.test(text)) return isTime(text) ? text : undefined
  const milliseconds = parseTime(text)
  return milliseconds === undefined || !isPrintable(milliseconds) ? undefined : formatTime(milliseconds)
}

/** The form in which the API server returns a `MicroTime`: in UTC. */
export function normalizeMicroTime(text: string): string | undefined {
  const milliseconds = parseMicroTime(text)
  return milliseconds === undefined || !isPrintable(milliseconds) ? undefined : formatMicroTime(milliseconds)
}

const canonicalTime = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/
const timePattern = makePattern('(?:\\.([0-9]+))?')
const microTimePattern = makePattern('\\.([0-9]{6})')

function makePattern(fraction: string): RegExp {
  const date = '([0-9]{4})-([0-9]{2})-([0-9]{2})'
  const clock = '([0-9]{2}):([0-9]{2}):([0-9]{2})'
  return new RegExp(`^${date}T${clock}${fraction}(?:Z|([+-])([0-9]{2}):([0-9]{2}))$`)
}

function parseMoment(text: string, pattern: RegExp): number | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour = 0, offsetMinute = 0] = match
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59) return undefined
  const midnight = midnightMs(Number(year), Number(month), Number(day))
  if (midnight === undefined) return undefined
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000 * (sign === '-' ? -1 : 1)
  const clockMs = ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000
  return midnight + clockMs - offsetMs + fractionMs(fraction)
}

/** Undefined if the date does not exist. */
function midnightMs(year: number, month: number, day: number): number | undefined {
  const date = new Date(0)
  // Unlike Date.UTC, this does not map the years 0 to 99 to 1900 and later.
  date.setUTCFullYear(year, month - 1, day)
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? date.getTime() : undefined
}

/** Number of fractional digits that matter: a `number` of milliseconds is not more precise. */
const fractionDigits = 9

function fractionMs(fraction: string | undefined): number {
  if (fraction === undefined) return 0
  return Number(fraction.slice(0, fractionDigits).padEnd(fractionDigits, '0')) / 1e6
}

const yearZeroMs = Date.UTC(-1, 12, 1)
const yearTenThousandMs = Date.UTC(10_000, 0, 1)

function isPrintable(milliseconds: number): boolean {
  return milliseconds >= yearZeroMs && milliseconds < yearTenThousandMs
}

/** Cache of the last formatted second: most timestamps are the current time. */
const lastWritten = { second: 0, text: '1970-01-01T00:00:00' }

function formatSecond(second: number): string {
  if (second === lastWritten.second) return lastWritten.text
  const milliseconds = second * 1000
  if (!isPrintable(milliseconds)) throw new RangeError(`time out of range: ${milliseconds} ms since 1970`)
  const text = new Date(milliseconds).toISOString().slice(0, 19)
  lastWritten.second = second
  lastWritten.text = text
  return text
}
