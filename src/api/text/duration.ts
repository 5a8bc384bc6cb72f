/**
 * Durations in Go's format, `1h30m0s`, as used by flags, configuration and some API fields; and ages in
 * kubectl's format, `3h12m`. Values are nanoseconds in a `bigint`, limited to 64 bits as in Go.
 */
import { int64Max } from './int64.ts'
import { quote } from './quote.ts'

/** Thrown if a text is not a duration. The message is Go's. */
export class DurationError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DurationError'
  }
}

/** In nanoseconds. Throws DurationError if the text is not a duration or exceeds 64 bits (292 years). */
export function parseDuration(text: string): bigint {
  const parsed = parse(text)
  if (typeof parsed === 'string') throw new DurationError(parsed)
  return parsed
}

export function tryParseDuration(text: string): bigint | undefined {
  const parsed = parse(text)
  return typeof parsed === 'string' ? undefined : parsed
}

/** In milliseconds, with fractions; undefined if the text is not a duration. */
export function tryParseDurationMs(text: string): number | undefined {
  const nanoseconds = tryParseDuration(text)
  return nanoseconds === undefined ? undefined : Number(nanoseconds) / 1e6
}

/**
 * `1h30m0s`, `1.5s`, `100ms`, `2µs`: hours, minutes and seconds from one minute on, otherwise the largest
 * unit that fits.
 */
export function formatDuration(nanoseconds: bigint): string {
  if (nanoseconds === 0n) return '0s'
  const sign = nanoseconds < 0n ? '-' : ''
  const size = nanoseconds < 0n ? -nanoseconds : nanoseconds
  if (size < 1_000n) return `${sign}${size}ns`
  if (size < 1_000_000n) return `${sign}${withFraction(size, 3)}µs`
  if (size < second) return `${sign}${withFraction(size, 6)}ms`
  const minutes = size / minute
  const seconds = `${withFraction(size % minute, 9)}s`
  if (minutes === 0n) return `${sign}${seconds}`
  if (minutes < 60n) return `${sign}${minutes}m${seconds}`
  return `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`
}

export function formatDurationMs(milliseconds: number): string {
  return formatDuration(BigInt(Math.round(milliseconds * 1e6)))
}

/**
 * An age with two or three significant digits, as kubectl prints it: `45s`, `5m30s`, `3h12m`, `5d`, `2y45d`.
 */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000)
  // Tolerates clock skew between machines: up to a second in the future counts as now.
  if (!(seconds >= -1)) return '<invalid>'
  if (seconds < 120) return `${Math.max(seconds, 0)}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return twoUnits(`${minutes}m`, seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return twoUnits(`${hours}h`, minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (days < 8) return twoUnits(`${days}d`, hours % 24, 'h')
  if (days < 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  return years < 8 ? twoUnits(`${years}y`, days % 365, 'd') : `${years}y`
}

/** An age in a single unit: `45s`, `5m`, `3h`, `5d`, `2y`. */
export function shortHumanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000)
  if (!(seconds >= -1)) return '<invalid>'
  if (seconds < 60) return `${Math.max(seconds, 0)}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h`
  const days = Math.floor(hours / 24)
  return days < 365 ? `${days}d` : `${Math.floor(days / 365)}y`
}

const second = 1_000_000_000n
const minute = 60n * second
const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  // The micro sign and the Greek letter mu are both in use.
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', 1_000_000n],
  ['s', second],
  ['m', minute],
  ['h', 60n * minute],
])

/**
 * Maximum digits of an integer part that can fit into 64 bits, and of a fraction that can affect the result.
 */
const digitsMax = 19

/** Returns nanoseconds or an error message. */
function parse(text: string): bigint | string {
  const bad = (): string => `time: invalid duration ${quote(text.slice(0, shownCharactersMax))}`
  const negative = text.startsWith('-')
  const unsigned = negative || text.startsWith('+') ? text.slice(1) : text
  if (unsigned === '0') return 0n
  if (unsigned === '') return bad()
  const limit = negative ? int64Max + 1n : int64Max
  let total = 0n
  const part = /([0-9]*)(?:\.([0-9]*))?([^0-9.]*)/y
  while (part.lastIndex < unsigned.length) {
    const [, whole = '', fraction = '', unit = ''] = part.exec(unsigned) ?? []
    const digits = whole.replace(/^0+/, '')
    if ((whole === '' && fraction === '') || digits.length > digitsMax) return bad()
    if (unit === '') return `time: missing unit in duration ${quote(text.slice(0, shownCharactersMax))}`
    const size = units.get(unit)
    if (size === undefined) return unknownUnit(unit, text)
    total += BigInt(digits) * size + fractionOf(size, fraction)
    if (total > limit) return bad()
  }
  return negative ? -total : total
}

/** Maximum length of the invalid text in an error message. */
const shownCharactersMax = 200

function unknownUnit(unit: string, text: string): string {
  const shown = quote(unit.slice(0, shownCharactersMax))
  return `time: unknown unit ${shown} in duration ${quote(text.slice(0, shownCharactersMax))}`
}

function fractionOf(size: bigint, fraction: string): bigint {
  if (fraction === '') return 0n
  const digits = fraction.slice(0, digitsMax)
  return (BigInt(digits) * size) / 10n ** BigInt(digits.length)
}

/** Inserts a decimal point before the last digits and trims trailing zeros. */
function withFraction(value: bigint, digits: number): string {
  const text = value.toString().padStart(digits + 1, '0')
  const fraction = text.slice(-digits).replace(/0+$/, '')
  const whole = text.slice(0, -digits)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

function twoUnits(large: string, small: number, smallUnit: string): string {
  return small === 0 ? large : `${large}${small}${smallUnit}`
}
