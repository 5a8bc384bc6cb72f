/**
 * 64-bit integers in the API. A value is a `number` if that is exact, and a `bigint` beyond 2^53. Readers of
 * an `Int64` must handle both; writers use `toInt64`.
 */
export type Int64 = number | bigint

export const int64Max = 2n ** 63n - 1n
export const int64Min = -(2n ** 63n)
export const int32Max = 2 ** 31 - 1
const int32Min = -(2 ** 31)

/**
 * True for an integer that fits into 64 bits. A `number` beyond 2^53 does not count, since its last digits
 * are lost.
 */
export function isInt64(value: unknown): value is Int64 {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  return typeof value === 'bigint' && value >= int64Min && value <= int64Max
}

export function isInt32(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= int32Min && value <= int32Max
}

/** Returns a `number` if that is exact. */
export function toInt64(value: bigint): Int64 {
  const short = Number(value)
  return Number.isSafeInteger(short) ? short : value
}

/** Comparison function for sorting. */
export function compareInt64(a: Int64, b: Int64): number {
  if (a < b) return -1
  return a > b ? 1 : 0
}

/** Number of digits that a `number` always represents exactly. */
const exactDigits = 15

/**
 * Parses a decimal integer with an optional sign; undefined if the text is anything else or does not fit into
 * 64 bits.
 */
export function parseInt64(text: string): Int64 | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined
  if (text.length <= exactDigits) return Number(text) + 0
  // Only leading zeros can make a valid text longer than twenty characters; the bound keeps a long text from
  // becoming a huge bigint.
  const digits = text.replace(/^([+-]?)0+(?=[0-9])/, '$1')
  if (digits.length > 20) return undefined
  const value = BigInt(digits.startsWith('+') ? digits.slice(1) : digits)
  return value < int64Min || value > int64Max ? undefined : toInt64(value)
}
