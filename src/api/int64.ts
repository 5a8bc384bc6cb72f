/**
 * Whole numbers of 64 bits as the API has them. A value that a `number` holds exactly is a `number`; only one
 * beyond 2^53 is a `bigint`. Code that reads an `Int64` must be ready for both, code that makes one goes
 * through `toInt64`.
 */
export type Int64 = number | bigint

export const int64Max = 2n ** 63n - 1n
export const int64Min = -(2n ** 63n)
export const int32Max = 2 ** 31 - 1
const int32Min = -(2 ** 31)

/**
 * Whether a value is a whole number that fits into 64 bits. A `number` past 2^53 is not: its last digits are
 * lost.
 */
export function isInt64(value: unknown): value is Int64 {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  return typeof value === 'bigint' && value >= int64Min && value <= int64Max
}

export function isInt32(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= int32Min && value <= int32Max
}

/** The form in which the API carries a whole number: a `number` wherever that is exact. */
export function toInt64(value: bigint): Int64 {
  const short = Number(value)
  return Number.isSafeInteger(short) ? short : value
}

/** Negative, zero or positive, as a sort wants it. */
export function compareInt64(a: Int64, b: Int64): number {
  if (a < b) return -1
  return a > b ? 1 : 0
}

/** Digits that a `number` always holds exactly. */
const exactDigits = 15

/**
 * A decimal whole number with an optional sign; undefined when it is anything else or does not fit into 64
 * bits.
 */
export function parseInt64(text: string): Int64 | undefined {
  if (!/^[+-]?[0-9]+$/.test(text)) return undefined
  if (text.length <= exactDigits) return Number(text) + 0
  // Leading zeros are the only reason for more than twenty characters; without the bound a long text makes a
  // giant.
  const digits = text.replace(/^([+-]?)0+(?=[0-9])/, '$1')
  if (digits.length > 20) return undefined
  const value = BigInt(digits.startsWith('+') ? digits.slice(1) : digits)
  return value < int64Min || value > int64Max ? undefined : toInt64(value)
}
