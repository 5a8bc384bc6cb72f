/** `==`, `!=` and the ordering operators. Numbers of different types compare by value. */
import { sizeOf, traversalFactor } from '../cost.ts'
import { compareNumbers, equals } from '../equality.ts'
import { estimateComparison, exactly, scale, type Estimate, type Operand } from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, type Overload } from '../function.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  parameter,
  stringType,
  timestampType,
  type Typed,
  uintType,
} from '../type.ts'
import type { Duration, Timestamp, Value } from '../value.ts'
import { compareText } from './text.ts'

type Order = (comparison: number) => boolean

const orders: readonly (readonly [string, Order])[] = [
  ['_<_', comparison => comparison < 0],
  ['_<=_', comparison => comparison <= 0],
  ['_>_', comparison => comparison > 0],
  ['_>=_', comparison => comparison >= 0],
]

const anything = parameter('A')

/** Equality and `?:` are implemented by the evaluator; these overloads are for the checker only. */
export const comparison: readonly Overload[] = [
  globalFunction('_==_', [anything, anything], boolType, (a, b) => equals(a, b), {
    estimatedCost: estimateEquality,
  }),
  globalFunction('_!=_', [anything, anything], boolType, (a, b) => !equals(a, b), {
    estimatedCost: estimateComparison,
  }),
  globalFunction('_?_:_', [boolType, anything, anything], anything, (condition, a, b) => (condition ? a : b)),
  ...orders.flatMap(([name, order]) => [
    compared(name, boolType, (a, b) => order(Number(a) - Number(b))),
    ...numbers(name, order),
    comparedByLength(name, stringType, (a, b) => order(compareText(a, b))),
    comparedByLength(name, bytesType, (a, b) => order(Buffer.compare(a, b))),
    compared(name, timestampType, (a, b) => order(compareNanoseconds(a, b))),
    compared(name, durationType, (a, b) => order(compareNanoseconds(a, b))),
  ]),
]

function compared<T extends Value>(name: string, type: Typed<T>, call: (a: T, b: T) => boolean): Overload {
  return globalFunction<readonly [T, T]>(name, [type, type], boolType, call, {
    cost: comparedCost,
    estimatedCost: () => exactly(1),
  })
}

/** The cost depends on the length of the values. */
function comparedByLength<T extends Value>(
  name: string,
  type: Typed<T>,
  call: (a: T, b: T) => boolean,
): Overload {
  return globalFunction<readonly [T, T]>(name, [type, type], boolType, call, {
    cost: comparedCost,
    estimatedCost: estimateComparison,
  })
}

/** Longest name of a format. */
const formatCharactersMax = 64n

/** Values of extension types have no size: most are compared in one step. This holds for `==` but not for `!=`. */
function estimateEquality(a: Operand, b: Operand): Estimate {
  if (a.type.kind !== 'opaque' || b.type.kind !== 'opaque' || a.type.name !== b.type.name) {
    return estimateComparison(a, b)
  }
  if (a.type.name === 'kubernetes.NamedFormat') {
    return scale({ min: 1n, max: formatCharactersMax }, traversalFactor)
  }
  if (a.type.name !== 'kubernetes.URL') return exactly(1)
  return scale({ min: 1n, max: b.knownSize?.max ?? 1n }, traversalFactor)
}

function comparedCost(a: Value, b: Value): number {
  return Math.max(1, Math.ceil(Math.min(sizeOf(a), sizeOf(b)) * traversalFactor))
}

function numbers(name: string, order: Order): Overload[] {
  const types: readonly Typed<Value>[] = [intType, uintType, doubleType]
  return types.flatMap(left =>
    types.map(right =>
      globalFunction<readonly [Value, Value]>(name, [left, right], boolType, (a, b) => {
        const comparison = compareNumbers(a, b)
        if (comparison === undefined || Number.isNaN(comparison)) {
          throw new Fault('NaN values cannot be ordered')
        }
        return order(comparison)
      }),
    ),
  )
}

function compareNanoseconds(a: Timestamp | Duration, b: Timestamp | Duration): number {
  if (a.nanoseconds === b.nanoseconds) return 0
  return a.nanoseconds < b.nanoseconds ? -1 : 1
}
