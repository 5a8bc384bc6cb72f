/** Functions that return lists: `values.sort()`, `pods.sortBy(pod, pod.name)`, `lists.range(3)`. */
import { equals } from '../equality.ts'
import {
  exactly,
  product,
  sameSize,
  scale,
  sum,
  uint64,
  uint64Max,
  type Estimate,
  type EstimateCall,
  type Operand,
} from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, MacroError, method, type Library } from '../function.ts'
import type { Call, Expression } from '../syntax.ts'
import { dynType, intType, listOf, parameter, type Type } from '../type.ts'
import { list, ListValue, typeName, type Value } from '../value.ts'
import { compareValues, orderedTypes } from './ordering.ts'

const anyList = listOf(parameter('T'))
const dynList = listOf(dynType)
/** Not a valid identifier, so expressions cannot call it. */
const sortByKeys = '@sortByAssociatedKeys'
const sortInput = '@sortByInput'

export const listTransformLibrary: Library = {
  macros: [{ name: 'sortBy', receiver: true, argumentCount: 2, expand: expandSortBy }],
  overloads: [
    method('slice', [anyList, intType, intType], anyList, slice, {
      cost: ({ size }, start, end) => newListCost(Math.min(size, Math.max(0, Number(end - start)))),
      ...estimateNewList(sliceSize),
    }),
    method('flatten', [listOf(anyList)], anyList, values => flatten(values, 1n), {
      cost: ({ size }) => newListCost(size),
      ...estimateNewList(sameSize),
    }),
    method('flatten', [dynList, intType], dynList, flatten, {
      cost: ({ size }, depth) => newListCost(size * Math.max(0, Number(depth))),
      ...estimateNewList(sameSize, (_, depth) => Number(literalOr(depth, uint64Max))),
    }),
    globalFunction('lists.range', [intType], listOf(intType), range, {
      cost: count => newListCost(Math.max(0, Number(count))),
      ...estimateNewList(count => exactly(literalOr(count, uint64Max))),
    }),
    method('reverse', [anyList], anyList, values => list([...values].reverse()), {
      cost: ({ size }) => newListCost(size),
      ...estimateNewList(sameSize),
    }),
    method('distinct', [anyList], anyList, distinct, {
      cost: pairwiseCost,
      ...estimateNewList(squareSize, () => 2),
    }),
    ...orderedTypes.flatMap(type => [
      method('sort', [listOf(type)], listOf(type), values => sort(values, values), {
        cost: pairwiseCost,
        ...estimateNewList(squareSize, () => comparisonFactor(type)),
      }),
      method(sortByKeys, [anyList, listOf(type)], anyList, sort, {
        cost: (_, keys) => pairwiseCost(keys),
        ...estimateNewList(
          (_, keys) => squareSize(keys),
          () => comparisonFactor(type),
        ),
      }),
    ]),
  ],
}

function newListCost(size: number): number {
  return Math.floor(size) + 11
}

/** The estimates of a function that returns a list of the estimated size, with a cost per element. */
function estimateNewList(
  resultSize: EstimateCall,
  factor: (...operands: readonly Operand[]) => number = () => 1,
): { readonly estimatedCost: EstimateCall; readonly resultSize: EstimateCall } {
  const estimatedCost: EstimateCall = (...operands) => {
    return sum(exactly(newListCost(0)), scale(resultSize(...operands), factor(...operands)))
  }
  return { estimatedCost, resultSize }
}

function sliceSize({ size }: Operand, start?: Operand, end?: Operand): Estimate {
  return exactly(uint64(literalOr(end, size.max) - literalOr(start, 0n)))
}

/** Kubernetes takes the number of comparisons also for the size of the result. */
function squareSize({ size }: Operand): Estimate {
  return product(size, size)
}

/** The value of an integer literal, at least 0. */
function literalOr(operand: Operand | undefined, unknown: bigint): bigint {
  const literal = operand?.literal
  if (typeof literal !== 'bigint') return unknown
  return literal < 0n ? 0n : literal
}

/** Strings are also read. */
function comparisonFactor({ kind }: Type): number {
  return kind === 'string' || kind === 'bytes' ? 2.1 : 2
}

/** Worst case: each element is compared with each other. */
function pairwiseCost(values: ListValue): number {
  const { size } = values
  const first = size === 0 ? null : values.at(0)
  const factor = typeof first === 'string' || first instanceof Uint8Array ? 2.1 : 2
  return newListCost(size * size * factor)
}

function slice(values: ListValue, start: bigint, end: bigint): ListValue {
  const attempt = `cannot slice(${start}, ${end}),`
  if (start < 0n || end < 0n) throw new Fault(`${attempt} negative indexes not supported`)
  if (start > end) throw new Fault(`${attempt} start index must be less than or equal to end index`)
  if (end > values.size) throw new Fault(`${attempt} list is length ${values.size}`)
  const found: Value[] = []
  for (let index = Number(start); index < Number(end); index++) found.push(values.at(index))
  return list(found)
}

function flatten(values: ListValue, depth: bigint): ListValue {
  if (depth < 0n) throw new Fault('level must be non-negative')
  let flat = [...values]
  for (let level = 0n; level < depth && flat.some(isList); level++) {
    flat = flat.flatMap(value => (isList(value) ? [...value] : [value]))
  }
  return list(flat)
}

function isList(value: Value): value is ListValue {
  return value instanceof ListValue
}

function range(count: bigint): ListValue {
  if (count < 0n) throw new Fault(`lists.range: size must be non-negative, got ${count}`)
  return list(Array.from({ length: Number(count) }, (_, index) => BigInt(index)))
}

function distinct(values: ListValue): ListValue {
  const found: Value[] = []
  for (const value of values) if (!found.some(each => equals(each, value))) found.push(value)
  return list(found)
}

/** Sorts the values by their keys; stable. */
function sort(values: ListValue, keys: ListValue): ListValue {
  if (values.size !== keys.size) {
    const sizes = `but got ${values.size} and ${keys.size} elements respectively`
    throw new Fault(`${sortByKeys}() expected a list of the same size as the associated keys list, ${sizes}`)
  }
  const [first = null, ...others] = keys
  const type = typeName(first)
  if (others.some(key => typeName(key) !== type)) throw new Fault('list elements must have the same type')
  const entries = [...values].map((value, index) => ({ value, key: keys.at(index) }))
  entries.sort((a, b) => compareValues(a.key, b.key) || 0)
  return list(entries.map(({ value }) => value))
}

function expandSortBy({ target, parameters: [variable, key], offset }: Call): Expression | undefined {
  if (target === undefined || variable === undefined || key === undefined) return undefined
  if (variable.kind !== 'identifier' || variable.name.startsWith('.')) {
    throw new MacroError('argument is not an identifier', variable.offset)
  }
  const input: Expression = { kind: 'identifier', name: sortInput, offset: target.offset }
  const keys: Expression = {
    kind: 'comprehension',
    operator: 'map',
    range: input,
    variables: [variable.name],
    body: key,
    offset,
  }
  const body: Expression = { kind: 'call', name: sortByKeys, target: input, parameters: [keys], offset }
  return { kind: 'binding', name: sortInput, value: target, body, offset }
}
