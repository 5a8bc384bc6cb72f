/**
 * Resource quantities: `500m`, `1.5Gi`, `2e3`. A quantity is exact, arbitrarily large and immutable. It keeps
 * the format it was written in, which is used again for printing. Values finer than a billionth are rounded
 * away from zero when parsed, so that a non-zero quantity never becomes zero.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
import { int64Max } from './int64.ts'

export interface Quantity {
  /** The amount in billionths, the finest unit. */
  readonly nanos: bigint
  readonly format: QuantityFormat
}

/** `1Ki`, `1k` or `1e3`. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

/** Thrown if a text is not a quantity. The message is Kubernetes'. */
export class QuantityError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'QuantityError'
  }
}

export const zeroQuantity: Quantity = Object.freeze({ nanos: 0n, format: 'DecimalSI' })

/** Throws QuantityError if the text is not a quantity. */
export function parseQuantity(text: string): Quantity {
  const parsed = cachedParse(text)
  if (typeof parsed === 'string') throw new QuantityError(parsed)
  return parsed
}

export function tryParseQuantity(text: string): Quantity | undefined {
  const parsed = cachedParse(text)
  return typeof parsed === 'string' ? undefined : parsed
}

export function quantityFromInteger(value: number | bigint, format: QuantityFormat): Quantity {
  return { nanos: BigInt(value) * nanosInOne, format }
}

export function quantityFromMilli(value: number | bigint, format: QuantityFormat): Quantity {
  return { nanos: BigInt(value) * nanosInMilli, format }
}

/**
 * The canonical form: no fraction, the largest suffix without loss. An amount that binary suffixes cannot
 * represent exactly, or that is below 1024, is printed with decimal suffixes.
 */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity
  if (nanos === 0n) return '0'
  if (format === 'DecimalExponent') return formatExponent(nanos)
  const isLarge = nanos >= nanosInKibi || nanos <= -nanosInKibi
  const isBinary = format === 'BinarySI' && isLarge && nanos % nanosInOne === 0n
  return isBinary ? formatBinary(nanos) : formatDecimal(nanos)
}

/**
 * The form in which the API server returns a quantity; undefined if the text is not a quantity. It is
 * canonical except for texts that Kubernetes' fast path keeps as written: `1.125` and `1E3` stay, `1.5`
 * becomes `1500m` and `1024Ki` becomes `1Mi`.
 */
export function normalizeQuantity(text: string): string | undefined {
  const quantity = tryParseQuantity(text)
  if (quantity === undefined) return undefined
  return isKeptAsWritten(text, quantity.format) ? text : formatQuantity(quantity)
}

/** Comparison function for sorting. The format is ignored. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  if (a.nanos < b.nanos) return -1
  return a.nanos > b.nanos ? 1 : 0
}

/** The sum has the format of the first operand, unless that is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  if (b.nanos === 0n && a.nanos !== 0n) return a
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format }
}

/** The difference has the format of the first operand, unless that is zero. */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  if (b.nanos === 0n && a.nanos !== 0n) return a
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format }
}

export function negateQuantity(quantity: Quantity): Quantity {
  return { nanos: -quantity.nanos, format: quantity.format }
}

/** The factor must be an integer. */
export function multiplyQuantity(quantity: Quantity, factor: number | bigint): Quantity {
  return { nanos: quantity.nanos * BigInt(factor), format: quantity.format }
}

export function isZeroQuantity(quantity: Quantity): boolean {
  return quantity.nanos === 0n
}

export function quantitySign(quantity: Quantity): -1 | 0 | 1 {
  if (quantity.nanos === 0n) return 0
  return quantity.nanos < 0n ? -1 : 1
}

/** The nearest floating-point number. */
export function quantityToNumber(quantity: Quantity): number {
  const { nanos } = quantity
  if (nanos % nanosInOne === 0n) return Number(nanos / nanosInOne)
  const short = Number(nanos)
  if (Number.isSafeInteger(short)) return short / 1e9
  // Dividing a rounded value would round twice; parsing the digits rounds once.
  const digits = (nanos < 0n ? -nanos : nanos).toString()
  return Number(`${nanos < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`)
}

/** Rounded away from zero to an integer: 1 for 1m, -2 for -1.5. */
export function quantityValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, nanosInOne)
}

/** In thousandths, rounded away from zero. */
export function quantityMilliValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, nanosInMilli)
}

const nanosInOne = 1_000_000_000n
const nanosInMilli = 1_000_000n
const nanosInKibi = 1024n * nanosInOne
/** Maximum for values with a binary suffix, as in Kubernetes. */
const binaryNanosMax = int64Max * nanosInOne

const formatWrong =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const numericWrong = 'unable to parse numeric part of quantity'
const suffixWrong = "unable to parse quantity's suffix"

/**
 * Maximum length of a quantity. Longer texts are rejected, since parsing millions of digits would block the
 * server.
 */
const charactersMax = 1_000

/**
 * Maximum absolute exponent in `1e3`. Larger ones are rejected: `1e999999999` would have a billion digits.
 */
const exponentMax = 1_000

interface Suffix {
  readonly format: QuantityFormat
  /** Power of ten, or of two for BinarySI. */
  readonly exponent: number
}

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const suffixes: ReadonlyMap<string, Suffix> = new Map<string, Suffix>([
  ...binarySuffixes.map((text, index) => [text, { format: 'BinarySI', exponent: 10 * index }] as const),
  // Last, since the empty suffix is decimal.
  ...decimalSuffixes.map((text, index) => [text, { format: 'DecimalSI', exponent: 3 * index - 9 }] as const),
])

/**
 * Maximum number of cached quantities; the pods of a workload share the same few. When full, the cache is
 * cleared.
 */
const cacheMax = 1_000
/** Longer texts are rare and not cached, to bound memory. */
const cachedCharactersMax = 24
const cache = new Map<string, Quantity>()

function cachedParse(text: string): Quantity | string {
  const cached = cache.get(text)
  if (cached !== undefined) return cached
  const parsed = parse(text)
  if (typeof parsed !== 'string' && text.length <= cachedCharactersMax) {
    if (cache.size >= cacheMax) cache.clear()
    cache.set(text, parsed)
  }
  return parsed
}

/** The quantity or an error message. */
function parse(text: string): Quantity | string {
  if (text.length > charactersMax) return numericWrong
  const { negative, whole, fraction, rest } = split(text)
  if (whole === '' && fraction === '') return formatWrong
  const suffix = suffixes.get(rest) ?? parseExponent(rest)
  if (suffix === undefined) return /^[eEinumkKMGTP]*[-+]?[0-9]*$/.test(rest) ? suffixWrong : formatWrong
  const digits = BigInt(whole + fraction)
  const magnitude =
    suffix.format === 'BinarySI'
      ? scale(digits << BigInt(suffix.exponent), 9 - fraction.length)
      : scale(digits, suffix.exponent + 9 - fraction.length)
  return Object.freeze(make(magnitude, negative, suffix.format))
}

interface Parts {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
  readonly rest: string
}

/** Splits a text into sign, digits and suffix, without validating the suffix. */
function split(text: string): Parts {
  const [head = '', sign, whole = '', fraction = ''] = /^([+-]?)([0-9]*)(?:\.([0-9]*))?/.exec(text) ?? []
  return { negative: sign === '-', whole, fraction, rest: text.slice(head.length) }
}

function parseExponent(text: string): Suffix | undefined {
  if (!/^[eE][+-]?[0-9]+$/.test(text)) return undefined
  const exponent = Number(text.slice(1))
  return Math.abs(exponent) > exponentMax ? undefined : { format: 'DecimalExponent', exponent: exponent + 0 }
}

function make(magnitude: bigint, negative: boolean, format: QuantityFormat): Quantity {
  const isBinary = format === 'BinarySI'
  const capped = isBinary && magnitude > binaryNanosMax ? binaryNanosMax : magnitude
  const isFraction = isBinary && capped > 0n && capped < nanosInOne
  return { nanos: negative ? -capped : capped, format: isFraction ? 'DecimalSI' : format }
}

function scale(digits: bigint, powerOfTen: number): bigint {
  if (powerOfTen >= 0) return digits * 10n ** BigInt(powerOfTen)
  return divideAwayFromZero(digits, 10n ** BigInt(-powerOfTen))
}

function divideAwayFromZero(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  if (quotient * divisor === value) return quotient
  return value < 0n ? quotient - 1n : quotient + 1n
}

function formatDecimal(nanos: bigint): string {
  let mantissa = nanos
  let index = 0
  while (index < decimalSuffixes.length - 1 && mantissa % 1000n === 0n) {
    mantissa /= 1000n
    index++
  }
  return `${mantissa}${decimalSuffixes[index]}`
}

function formatBinary(nanos: bigint): string {
  let mantissa = nanos / nanosInOne
  let index = 0
  while (index < binarySuffixes.length - 1 && mantissa % 1024n === 0n) {
    mantissa /= 1024n
    index++
  }
  return `${mantissa}${binarySuffixes[index]}`
}

function formatExponent(nanos: bigint): string {
  let mantissa = nanos
  let exponent = -9
  while (mantissa % 1000n === 0n) {
    mantissa /= 1000n
    exponent += 3
  }
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`
}

/** Maximum number of digits for the fast path of Kubernetes' parser, which may keep the text as written. */
const keptDigitsMax = 18

/**
 * The text must be a quantity. True if it has no trailing zeros that the suffix could absorb, according to
 * the fast path.
 */
function isKeptAsWritten(text: string, format: QuantityFormat): boolean {
  const { whole, fraction, rest } = split(text)
  const digits = (whole.replace(/^0+/, '') || '0') + fraction
  if (format === 'BinarySI') return isBinaryKept(digits, fraction, rest)
  const exponent = (suffixes.get(rest) ?? parseExponent(rest))?.exponent
  if (exponent === undefined || suffixes.get(rest)?.format === 'BinarySI') return false
  const power = exponent - fraction.length
  const isShort = digits.length <= keptDigitsMax && power >= -9
  return isShort && power % 3 === 0 && !digits.startsWith('0') && !digits.endsWith('000')
}

function isBinaryKept(digits: string, fraction: string, suffix: string): boolean {
  const exponent = suffixes.get(suffix)?.exponent ?? 0
  const isShort = fraction === '' && digits.length <= 14 - Math.trunc((exponent * 3) / 10)
  return isShort && Number(digits) % 8 !== 0
}
