/** `+`, `-`, `*`, `/`, `%` and negation. Integer overflow is a fault. */
import { int64Min } from '#/api/text/int64.ts'
import { sizeOf, traversalFactor } from '../cost.ts'
import { scale, sum, type Estimate, type Operand } from '../estimate.ts'
import { Fault } from '../fault.ts'
import { mergeItems } from '../item-identity.ts'
import { globalFunction, type Overload } from '../function.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  listOf,
  parameter,
  stringType,
  timestampType,
  type Typed,
  uintType,
} from '../type.ts'
import { list, type ListValue, type Uint, type Value } from '../value.ts'
import { toDuration, toInt, toTimestamp, toUint } from './limits.ts'

const anyList = listOf(parameter('A'))
const joinedText = { cost: joinedCost, estimatedCost: estimateJoined, resultSize: joinedSize }

export const arithmetic: readonly Overload[] = [
  globalFunction('_+_', [bytesType, bytesType], bytesType, joinBytes, joinedText),
  binary('_+_', doubleType, (a, b) => a + b),
  binary('_+_', durationType, (a, b) => toDuration(a.nanoseconds + b.nanoseconds)),
  globalFunction('_+_', [durationType, timestampType], timestampType, (a, b) =>
    toTimestamp(a.nanoseconds + b.nanoseconds),
  ),
  globalFunction('_+_', [timestampType, durationType], timestampType, (a, b) =>
    toTimestamp(a.nanoseconds + b.nanoseconds),
  ),
  binary('_+_', intType, (a, b) => toInt(a + b)),
  globalFunction('_+_', [anyList, anyList], anyList, joinLists, { cost: joinedCost, resultSize: joinedSize }),
  globalFunction('_+_', [stringType, stringType], stringType, (a, b) => a + b, joinedText),
  binary('_+_', uintType, (a, b) => toUint(a.value + b.value)),

  binary('_-_', doubleType, (a, b) => a - b),
  binary('_-_', durationType, (a, b) => toDuration(a.nanoseconds - b.nanoseconds)),
  binary('_-_', intType, (a, b) => toInt(a - b)),
  globalFunction('_-_', [timestampType, durationType], timestampType, (a, b) =>
    toTimestamp(a.nanoseconds - b.nanoseconds),
  ),
  globalFunction('_-_', [timestampType, timestampType], durationType, (a, b) =>
    toDuration(a.nanoseconds - b.nanoseconds),
  ),
  binary('_-_', uintType, (a, b) => toUint(a.value - b.value)),

  binary('_*_', doubleType, (a, b) => a * b),
  binary('_*_', intType, (a, b) => toInt(a * b)),
  binary('_*_', uintType, (a, b) => toUint(a.value * b.value)),

  binary('_/_', doubleType, (a, b) => a / b),
  binary('_/_', intType, (a, b) => toInt(a / divisor(b, 'division by zero'))),
  binary('_/_', uintType, (a, b) => toUint(a.value / divisor(b, 'division by zero'))),
  binary('_%_', intType, remainder),
  binary('_%_', uintType, (a, b) => toUint(a.value % divisor(b, 'modulus by zero'))),

  globalFunction('-_', [doubleType], doubleType, value => -value),
  globalFunction('-_', [intType], intType, value => toInt(-value)),
  globalFunction('!_', [boolType], boolType, value => !value),
]

function binary<T extends Value>(name: string, type: Typed<T>, call: (a: T, b: T) => Value): Overload {
  return globalFunction<readonly [T, T]>(name, [type, type], type, call)
}

/** Free in Kubernetes; here lists are copied, so a longer list costs more. */
function joinedCost(a: Value, b: Value): number {
  return Math.max(1, Math.ceil((sizeOf(a) + sizeOf(b)) * traversalFactor))
}

function joinedSize(a: Operand, b: Operand): Estimate {
  return sum(a.size, b.size)
}

function estimateJoined(a: Operand, b: Operand): Estimate {
  return scale(joinedSize(a, b), traversalFactor)
}

function joinBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  return new Uint8Array(Buffer.concat([a, b]))
}

function joinLists(a: ListValue, b: ListValue): ListValue {
  return a.identity ? mergeItems(a, b, a.identity) : list([...a, ...b])
}

function divisor(value: bigint | Uint, complaint: string): bigint {
  const number = typeof value === 'bigint' ? value : value.value
  if (number === 0n) throw new Fault(complaint)
  return number
}

function remainder(a: bigint, b: bigint): bigint {
  const by = divisor(b, 'modulus by zero')
  if (a === int64Min && by === -1n) throw new Fault('integer overflow')
  return a % by
}
