/** Kubernetes' list and set functions: `[1, 2].sum()`, `names.indexOf("web")`, `sets.contains([1, 2], [2])`. */
import { equals } from '../equality.ts'
import { Fault } from '../fault.ts'
import { globalFunction, method, type Library, type Overload } from '../function.ts'
import { toDuration, toInt, toUint } from '../standard/limits.ts'
import {
  boolType,
  doubleType,
  durationType,
  intType,
  listOf,
  parameter,
  uintType,
  type Type,
} from '../type.ts'
import { Duration, Uint, type ListValue, type Value } from '../value.ts'
import { deepTraversalCost } from './costs.ts'
import { compareValues, orderedTypes } from './ordering.ts'

const options = { cost: deepTraversalCost }
const element = parameter('A')

export const listLibrary: Library = {
  overloads: [
    ...orderedTypes.flatMap(type => [
      method('isSorted', [listOf(type)], boolType, isSorted, options),
      method('min', [listOf(type)], type, values => extreme(values, 'min', -1), options),
      method('max', [listOf(type)], type, values => extreme(values, 'max', 1), options),
    ]),
    sumOf(intType, 0n),
    sumOf(uintType, new Uint(0n)),
    sumOf(doubleType, 0),
    sumOf(durationType, new Duration(0n)),
    method('indexOf', [listOf(element), element], intType, indexOf, options),
    method('lastIndexOf', [listOf(element), element], intType, lastIndexOf, options),
  ],
}

function isSorted(values: ListValue): boolean {
  let previous: Value | undefined
  for (const value of values) {
    if (previous !== undefined && compareValues(previous, value) > 0) return false
    previous = value
  }
  return true
}

/** The first of several equal extremes. */
function extreme(values: ListValue, name: string, direction: 1 | -1): Value {
  let found: Value | undefined
  for (const value of values) {
    if (found === undefined || compareValues(value, found) * direction > 0) found = value
  }
  if (found === undefined) throw new Fault(`${name} called on empty list`)
  return found
}

function sumOf(type: Type, zero: Value): Overload {
  return method(
    'sum',
    [listOf(type)],
    type,
    values => {
      let sum: Value | undefined
      for (const value of values) sum = sum === undefined ? value : add(sum, value)
      return sum ?? zero
    },
    options,
  )
}

function add(a: Value, b: Value): Value {
  if (typeof a === 'bigint' && typeof b === 'bigint') return toInt(a + b)
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (a instanceof Uint && b instanceof Uint) return toUint(a.value + b.value)
  if (a instanceof Duration && b instanceof Duration) return toDuration(a.nanoseconds + b.nanoseconds)
  throw new Fault('no such overload')
}

function indexOf(values: ListValue, wanted: Value): bigint {
  for (let index = 0; index < values.size; index++) {
    if (equals(values.at(index), wanted)) return BigInt(index)
  }
  return -1n
}

function lastIndexOf(values: ListValue, wanted: Value): bigint {
  for (let index = values.size - 1; index >= 0; index--) {
    if (equals(values.at(index), wanted)) return BigInt(index)
  }
  return -1n
}

const twoLists = [listOf(parameter('T')), listOf(parameter('T'))] as const

/** Every element of one is compared with every element of the other. */
const productCost = (a: ListValue, b: ListValue): number => 1 + a.size * b.size

export const setLibrary: Library = {
  overloads: [
    globalFunction('sets.contains', twoLists, boolType, containsAll, { cost: productCost }),
    globalFunction('sets.equivalent', twoLists, boolType, (a, b) => containsAll(a, b) && containsAll(b, a), {
      cost: (a, b) => 1 + 2 * a.size * b.size,
    }),
    globalFunction(
      'sets.intersects',
      twoLists,
      boolType,
      (a, b) => [...a].some(each => hasElement(b, each)),
      {
        cost: productCost,
      },
    ),
  ],
}

function containsAll(container: ListValue, elements: ListValue): boolean {
  for (const element of elements) if (!hasElement(container, element)) return false
  return true
}

function hasElement(container: ListValue, element: Value): boolean {
  for (const each of container) if (equals(each, element)) return true
  return false
}
