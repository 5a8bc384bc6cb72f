/**
 * Optional values. `or` and `orValue` are implemented by the evaluator, which evaluates the alternative
 * lazily.
 */
import { Fault } from '../fault.ts'
import { globalFunction, method, type Overload } from '../function.ts'
import { boolType, listOf, optionalOf, parameter } from '../type.ts'
import {
  Duration,
  list,
  ListValue,
  MapValue,
  Optional,
  optionalOfValue,
  typeName,
  Uint,
  type Value,
} from '../value.ts'

const anything = parameter('V')
const optional = optionalOf(anything)
const optionalList = listOf(optional)

export const optionals: readonly Overload[] = [
  globalFunction('optional.of', [anything], optional, value => new Optional(value)),
  globalFunction('optional.ofNonZeroValue', [anything], optional, value =>
    isZero(value) ? Optional.none : new Optional(value),
  ),
  globalFunction('optional.none', [], optional, () => Optional.none),
  globalFunction('optional.unwrap', [optionalList], listOf(anything), unwrap, {
    cost: values => 1 + values.size,
  }),
  method('unwrapOpt', [optionalList], listOf(anything), unwrap, { cost: values => 1 + values.size }),
  method('hasValue', [optional], boolType, ({ value }) => value !== undefined),
  method('value', [optional], anything, ({ value }) => {
    if (value === undefined) throw new Fault('optional.none() dereference')
    return value
  }),
  method('or', [optional, optional], optional, (first, second) =>
    first.value === undefined ? second : first,
  ),
  method('orValue', [optional, anything], anything, ({ value }, other) => value ?? other),
  method('first', [listOf(anything)], optional, values => elementAt(values, 0)),
  method('last', [listOf(anything)], optional, values => elementAt(values, values.size - 1)),
]

function elementAt(values: ListValue, index: number): Optional {
  return optionalOfValue(values.size === 0 ? undefined : values.at(index))
}

function unwrap(values: ListValue): ListValue {
  const present: Value[] = []
  for (const value of values) {
    if (!(value instanceof Optional)) throw new Fault(`value ${typeName(value)} is not optional`)
    if (value.value !== undefined) present.push(value.value)
  }
  return list(present)
}

function isZero(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0 || value === 0n) return true
  if (value instanceof Uint) return value.value === 0n
  if (value instanceof Duration) return value.nanoseconds === 0n
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof ListValue || value instanceof MapValue) return value.size === 0
  return value instanceof Optional && value.value === undefined
}
