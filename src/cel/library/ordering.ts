import { compareNumbers } from '../equality.ts'
import { Fault } from '../fault.ts'
import { compareText } from '../standard/text.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  uintType,
  type Type,
} from '../type.ts'
import { Duration, Timestamp, type Value } from '../value.ts'

/** The types with an order. */
export const orderedTypes: readonly Type[] = [
  intType,
  uintType,
  doubleType,
  boolType,
  durationType,
  timestampType,
  stringType,
  bytesType,
]

/** Negative, zero or positive; NaN if a number is NaN. */
export function compareValues(a: Value, b: Value): number {
  const order = compareNumbers(a, b)
  if (order !== undefined) return order
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  const isDuration = a instanceof Duration && b instanceof Duration
  const isTimestamp = a instanceof Timestamp && b instanceof Timestamp
  if (isDuration || isTimestamp) return compareNumbers(a.nanoseconds, b.nanoseconds) ?? 0
  throw new Fault('no such overload')
}
