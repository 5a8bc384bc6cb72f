/**
 * Amounts of resources: `500m`, `1.5Gi`, `2e3`. A quantity is exact, of any size, and immutable. It remembers
 * the family of suffixes it was written with, because it is printed with the same family again. It is not a
 * number: what is finer than a billionth is rounded away from zero when it is read, so that who asks for some
 * never gets nothing.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
 */
import { int64Max } from './int64.ts'

export interface Quantity {
  /** The amount in billionths: the finest unit there is. */
  readonly nanos: bigint
  readonly format: QuantityFormat
}

/** `1Ki`, `1k` or `1e3`. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

/** A text is not a quantity. The message is Kubernetes'. */
export class QuantityError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'QuantityError'
  }
}

export const zeroQuantity: Quantity = Object.freeze({ nanos: 0n, format: 'DecimalSI' })

/** Throws QuantityError when the text is not a quantity. */
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
 * The canonical form: no fraction, the largest suffix that loses nothing. An amount that powers of 1024
 * cannot say exactly, or that is less than one of them, is printed with powers of 1000.
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
 * What the API server answers when this was written, undefined when it is not a quantity. It is the canonical
 * form but for texts that look canonical at a glance, which Kubernetes keeps as they are: `1.125` and `1E3`
 * stay, `1.5` becomes `1500m` and `1024Ki` becomes `1Mi`.
 */
export function normalizeQuantity(text: string): string | undefined {
  const quantity = tryParseQuantity(text)
  if (quantity === undefined) return undefined
  return isKeptAsWritten(text, quantity.format) ? text : formatQuantity(quantity)
}

/** Negative, zero or positive, as a sort wants it. The format does not matter. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  if (a.nanos < b.nanos) return -1
  return a.nanos > b.nanos ? 1 : 0
}

/** The sum has the format of the first, unless that is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  if (b.nanos === 0n && a.nanos !== 0n) return a
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format }
}

/** The difference has the format of the first, unless that is zero. */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  if (b.nanos === 0n && a.nanos !== 0n) return a
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format }
}

export function negateQuantity(quantity: Quantity): Quantity {
  return { nanos: -quantity.nanos, format: quantity.format }
}

/** The factor is a whole number. */
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
  // Dividing what was rounded would round twice; reading the digits rounds once.
  const digits = (nanos < 0n ? -nanos : nanos).toString()
  return Number(`${nanos < 0n ? '-' : ''}${digits.slice(0, -9)}.${digits.slice(-9)}`)
}

/** The whole number not nearer to zero: 1 for 1m, -2 for -1.5. */
export function quantityValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, nanosInOne)
}

/** Thousandths, rounded away from zero likewise. */
export function quantityMilliValue(quantity: Quantity): bigint {
  return divideAwayFromZero(quantity.nanos, nanosInMilli)
}

const nanosInOne = 1_000_000_000n
const nanosInMilli = 1_000_000n
const nanosInKibi = 1024n * nanosInOne
/** What is written with a power of 1024 is capped here, as Kubernetes caps it. */
const binaryNanosMax = int64Max * nanosInOne

const formatWrong =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const numericWrong = 'unable to parse numeric part of quantity'
const suffixWrong = "unable to parse quantity's suffix"

/**
 * Characters of a quantity. A longer text is refused: no amount of anything needs a thousand digits, and
 * reading millions of them would block everybody.
 */
const charactersMax = 1_000

/**
 * Powers of ten either way in `1e3`. A larger one is refused: `1e999999999` would be a number of a billion
 * digits.
 */
const exponentMax = 1_000

interface Suffix {
  readonly format: QuantityFormat
  /** The power of ten, or of two for BinarySI. */
  readonly exponent: number
}

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E']
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const suffixes: ReadonlyMap<string, Suffix> = new Map<string, Suffix>([
  ...binarySuffixes.map((text, index) => [text, { format: 'BinarySI', exponent: 10 * index }] as const),
  // These come last: no suffix is decimal.
  ...decimalSuffixes.map((text, index) => [text, { format: 'DecimalSI', exponent: 3 * index - 9 }] as const),
])

/**
 * Texts whose quantities are kept. The same few occur in every pod of a workload; when full, all are
 * forgotten.
 */
const cacheMax = 1_000
/** Longer texts are not kept: they are rare, and would make the cache large. */
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

/** The quantity, or what is wrong with the text. */
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

/** Cuts a text into sign, digits and what follows them, which is not looked at. */
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

/** Digits up to which Kubernetes takes the short way of reading, on which it may keep the text. */
const keptDigitsMax = 18

/**
 * The text is a quantity. A text that is kept has no zeros to move into the suffix, as far as a quick look
 * tells.
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
