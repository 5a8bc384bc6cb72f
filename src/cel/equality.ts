/**
 * Equality of values: numbers across types, lists and maps by content, everything else only within its type.
 * Uses an explicit stack, since clients control the depth.
 */
import { lookupCost, sizeOf, traversalFactor } from './cost.ts'
import { itemsByKey, type ItemIdentity } from './item-identity.ts'
import {
  Duration,
  ListValue,
  MapValue,
  ObjectValue,
  OpaqueValue,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts'

/** Charges the cost of a comparison beyond its first step, as it proceeds. */
export type Charge = (cost: number) => void

/** Number of elements between two charges. */
const chargeInterval = 1 / traversalFactor
/** Strings of at least this length inside a list are charged separately. */
const longText = 1_000

export function equals(a: Value, b: Value, charge?: Charge): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return equalScalars(a, b)
  const pending: Value[] = []
  let compared = 0
  const compare = (left: Value, right: Value): boolean => {
    const before = pending.length
    if (equalHere(left, right, pending)) return true
    // Children found before the difference are not charged below.
    charge?.(Math.floor(((pending.length - before) / 2) * traversalFactor))
    return false
  }
  if (!compare(a, b)) return false
  while (pending.length > 0) {
    const [right, left] = [pending.pop()!, pending.pop()!]
    const isDue = ++compared % chargeInterval === 0
    if (charge !== undefined && (isDue || sizeOf(left) > longText)) charge(lookupCost(left))
    if (!compare(left, right)) return false
  }
  return true
}

/** Negative, zero or positive for two numbers of any type; undefined if one is not a number. */
export function compareNumbers(a: Value, b: Value): number | undefined {
  const left = a instanceof Uint ? a.value : a
  const right = b instanceof Uint ? b.value : b
  const isNumeric = (value: Value): value is bigint | number =>
    typeof value === 'bigint' || typeof value === 'number'
  if (!isNumeric(left) || !isNumeric(right)) return undefined
  // JavaScript compares bigint and number by their mathematical values.
  if (left < right) return -1
  if (left > right) return 1
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : 0
}

function equalScalars(a: Value, b: Value): boolean {
  if (a === b) return true
  return compareNumbers(a, b) === 0
}

/** Compares two values without their children, which are pushed to `pending` in pairs. */
function equalHere(a: Value, b: Value, pending: Value[]): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return equalScalars(a, b)
  if (a instanceof ListValue) return b instanceof ListValue && equalLists(a, b, pending)
  if (a instanceof MapValue) return b instanceof MapValue && equalMaps(a, b, pending)
  if (a instanceof ObjectValue) return b instanceof ObjectValue && equalObjects(a, b, pending)
  if (a instanceof Optional) return b instanceof Optional && equalOptionals(a, b, pending)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && Buffer.compare(a, b) === 0
  if (a instanceof Timestamp) return b instanceof Timestamp && a.nanoseconds === b.nanoseconds
  if (a instanceof Duration) return b instanceof Duration && a.nanoseconds === b.nanoseconds
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name
  if (a instanceof OpaqueValue) {
    return b instanceof OpaqueValue && a.typeName === b.typeName && a.equals(b)
  }
  return equalScalars(a, b)
}

function equalLists(a: ListValue, b: ListValue, pending: Value[]): boolean {
  if (a.size !== b.size) return false
  if (a.identity) return equalUnordered(a, b, { identity: a.identity, pending })
  for (let index = 0; index < a.size; index++) pending.push(a.at(index), b.at(index))
  return true
}

/** The left list determines whether the order matters. */
function equalUnordered(
  a: ListValue,
  b: ListValue,
  { identity, pending }: { readonly identity: ItemIdentity; readonly pending: Value[] },
): boolean {
  const [left, right] = [itemsByKey(a, identity), itemsByKey(b, identity)]
  if (left.size !== right.size) return false
  for (const [key, item] of left) {
    const other = right.get(key)
    if (other === undefined) return false
    pending.push(item, other)
  }
  return true
}

function equalMaps(a: MapValue, b: MapValue, pending: Value[]): boolean {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    const [left, right] = [a.get(key), b.get(key)]
    if (left === undefined || right === undefined) return false
    pending.push(left, right)
  }
  return true
}

function equalObjects(a: ObjectValue, b: ObjectValue, pending: Value[]): boolean {
  if (a.type.name !== b.type.name) return false
  const names = namesOf(a)
  if (names.length !== namesOf(b).length) return false
  for (const name of names) {
    const [left, right] = [a.field(name), b.field(name)]
    if (left === undefined || right === undefined) return false
    pending.push(left, right)
  }
  return equalHidden(a.hiddenProperties(), b.hiddenProperties(), pending)
}

function namesOf(object: ObjectValue): readonly string[] {
  const names = object.names()
  return Array.isArray(names) ? names : [...names]
}

function equalHidden(
  a: ReadonlyMap<string, Value>,
  b: ReadonlyMap<string, Value>,
  pending: Value[],
): boolean {
  if (a.size !== b.size) return false
  for (const [key, left] of a) {
    const right = b.get(key)
    if (right === undefined) return false
    pending.push(left, right)
  }
  return true
}

function equalOptionals(a: Optional, b: Optional, pending: Value[]): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  pending.push(a.value, b.value)
  return true
}
