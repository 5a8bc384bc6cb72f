/**
 * Resolves unquoted YAML scalars, and determines which strings must be quoted. The rules are those of
 * Kubernetes' YAML library, a mixture of YAML 1.1 and 1.2: `yes`, `on` and `y` are booleans, `017` and `0o17`
 * are octal, `1_000` is a thousand, `1:30` and `2024-01-01` are strings.
 */
import { toExactNumber } from './json.ts'
import { int64Max, int64Min, toInt64 } from './int64.ts'

export type YamlScalar = null | boolean | number | bigint | string

/**
 * The value of an unquoted scalar. Infinity and NaN, which JSON cannot represent, are returned as numbers.
 */
export function resolvePlainScalar(text: string): YamlScalar {
  const first = text.charCodeAt(0)
  // Fast path: most scalars are words, and few letters start one with a special meaning.
  if (first > 0x3a && !wordStarts.includes(text.charAt(0))) return text
  const word = text.length <= wordLengthMax ? words.get(text) : undefined
  if (word !== undefined) return word
  return isNumberStart(first) ? (resolveNumber(text) ?? text) : text
}

/** True if the string without quotes would be parsed as another type, here or by a YAML 1.1 parser. */
export function needsQuotes(text: string): boolean {
  if (text === '<<' || typeof resolvePlainScalar(text) !== 'string') return true
  return isNumberStart(text.charCodeAt(0)) && (isTimestamp(text) || base60.test(text))
}

/** The shortest form; with an exponent from a million on and below a ten thousandth: `1.5e+06`. */
export function formatFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? '.nan' : value > 0 ? '.inf' : '-.inf'
  const [digits = '', exponent = ''] = value.toExponential().split('e')
  const power = Number(exponent)
  if (power >= -4 && power < 6) return String(value)
  const size = String(Math.abs(power)).padStart(2, '0')
  return `${digits}e${power < 0 ? '-' : '+'}${size}`
}

const words: ReadonlyMap<string, YamlScalar> = new Map<string, YamlScalar>([
  ...withCases(true, 'y', 'yes', 'true', 'on'),
  ...withCases(false, 'n', 'no', 'false', 'off'),
  ...withCases(null, 'null'),
  ['', null],
  ['~', null],
  ...['.nan', '.NaN', '.NAN'].map(text => [text, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map(text => [text, Infinity] as const),
  ...['-.inf', '-.Inf', '-.INF'].map(text => [text, -Infinity] as const),
])
const wordLengthMax = 5
const wordStarts = 'yYnNtTfFoO~'

/** Only `yes`, `Yes` and `YES`; other capitalizations are strings. */
function withCases(value: YamlScalar, ...lower: readonly string[]): [string, YamlScalar][] {
  return lower.flatMap(word => {
    const spellings = new Set([word, `${word.charAt(0).toUpperCase()}${word.slice(1)}`, word.toUpperCase()])
    return [...spellings].map((spelling): [string, YamlScalar] => [spelling, value])
  })
}

/** `+`, `-`, `.` or a digit. */
function isNumberStart(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2b || code === 0x2d || code === 0x2e
}

const integer = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/
const clock = '(\\d\\d?):(\\d\\d?):(\\d\\d?)(?:[.,]\\d+)?'
const zone = '(?:Z|[-+](\\d\\d):(\\d\\d))'
const timestamp = new RegExp(`^(\\d{4})-(\\d\\d?)-(\\d\\d?)(?:[Tt]${clock}${zone}| ${clock})?$`)
const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/

/** Numbers that are no moment, such as the 30th of February, are a string. */
function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text)
  if (match === null) return false
  const [year = 0, month = 0, day = 0, ...rest] = match.slice(1).map(part => Number(part ?? 0))
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0] = rest
  const [localHour = 0, localMinute = 0, localSecond = 0] = rest.slice(5)
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 24 || zoneMinute > 60) return false
  if (localHour > 23 || localMinute > 59 || localSecond > 59) return false
  const daysOfMonth = new Date(Date.UTC(2_000 + (year % 400), month, 0)).getUTCDate()
  return month >= 1 && month <= 12 && day >= 1 && day <= daysOfMonth
}

/** The longest integer has 64 binary digits; a bigint for longer text would be a waste of time. */
const integerLengthMax = 70

function resolveNumber(text: string): YamlScalar | undefined {
  // Only a fraction without a digit before the point must not contain underscores.
  const plain = text.startsWith('.') ? text : text.replaceAll('_', '')
  if (plain.length <= integerLengthMax) {
    const whole = resolveInteger(plain)
    if (whole !== undefined) return whole
  }
  if (!float.test(plain)) return undefined
  const value = Number(plain)
  return Number.isFinite(value) ? toExactNumber(value + 0) : undefined
}

function resolveInteger(text: string): YamlScalar | undefined {
  const match = integer.exec(text)
  if (match === null) return undefined
  const [, sign = '', hexadecimal, binary, octal, decimal] = match
  const size = BigInt(
    hexadecimal !== undefined
      ? `0x${hexadecimal}`
      : binary !== undefined
        ? `0b${binary}`
        : octal !== undefined
          ? `0o${octal}`
          : (decimal ?? '0'),
  )
  const value = sign === '-' ? -size : size
  if (value >= int64Min && value <= int64Max) return toInt64(value)
  // Between 2^63 and 2^64 it is parsed as an integer but converted to a double. Beyond that only decimal
  // digits are a number.
  return sign === '' && value < 2n ** 64n ? Number(value) : undefined
}
