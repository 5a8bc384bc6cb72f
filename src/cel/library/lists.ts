/** Kubernetes' list and set functions: `[1, 2].sum()`, `names.indexOf("web")`, `sets.contains([1, 2], [2])`. */
import { equals } from '../equality.ts'
import { exactly, product, scale, sum, type Estimate, type Operand } from '../estimate.ts'
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
import { byDeepTraversal } from './costs.ts'
import { compareValues, orderedTypes } from './ordering.ts'

const element = parameter('A')

export const listLibrary: Library = {
  overloads: [
    ...orderedTypes.flatMap(type => [
      method('isSorted', [listOf(type)], boolType, isSorted, byDeepTraversal),
      method('min', [listOf(type)], type, values => extreme(values, 'min', -1), byDeepTraversal),
      method('max', [listOf(type)], type, values => extreme(values, 'max', 1), byDeepTraversal),
    ]),
    sumOf(intType, 0n),
    sumOf(uintType, new Uint(0n)),
    sumOf(doubleType, 0),
    sumOf(durationType, new Duration(0n)),
    method('indexOf', [listOf(element), element], intType, indexOf, byDeepTraversal),
    method('lastIndexOf', [listOf(element), element], intType, lastIndexOf, byDeepTraversal),
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
    byDeepTraversal,
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
const byProduct = {
  cost: (a: ListValue, b: ListValue): number => 1 + a.size * b.size,
  estimatedCost: (a: Operand, b: Operand): Estimate => estimateProduct(a, b, 1),
}

function estimateProduct(a: Operand, b: Operand, factor: number): Estimate {
  return sum(exactly(1), scale(product(a.size, b.size), factor))
}

export const setLibrary: Library = {
  overloads: [
    globalFunction('sets.contains', twoLists, boolType, containsAll, byProduct),
    globalFunction('sets.equivalent', twoLists, boolType, (a, b) => containsAll(a, b) && containsAll(b, a), {
      cost: (a, b) => 1 + 2 * a.size * b.size,
      estimatedCost: (a, b) => estimateProduct(a, b, 2),
    }),
    globalFunction(
      'sets.intersects',
      twoLists,
      boolType,
      (a, b) => [...a].some(each => hasElement(b, each)),
      byProduct,
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
