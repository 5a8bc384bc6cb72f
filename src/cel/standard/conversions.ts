/** `int()`, `string()` and the other conversions, `type()` and `dyn()`. */
import { int64Max, int64Min } from '#/api/text/int64.ts'
import { traversalCost } from '../cost.ts'
import { estimateTraversal, type Estimate, type Operand, uint64 } from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, type Overload } from '../function.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  parameter,
  stringType,
  timestampType,
  type Type,
  type Typed,
  typeOfType,
  uintType,
} from '../type.ts'
import { Duration, Timestamp, typeName, TypeValue, Uint, type Value } from '../value.ts'
import { showDouble } from './double-text.ts'
import { toInt, toTimestamp, toUint } from './limits.ts'
import { parseDuration, parseTimestamp, showDuration, showTimestamp } from './time-text.ts'

const anything = parameter('A')

export const conversions: readonly Overload[] = [
  globalFunction('type', [anything], typeOfType(anything), value => new TypeValue(typeName(value))),
  globalFunction('dyn', [anything], dynType, value => value),

  same('bool', boolType),
  globalFunction('bool', [stringType], boolType, text => parsed(parseBool(text), 'bool')),

  same('bytes', bytesType),
  globalFunction('bytes', [stringType], bytesType, text => new Uint8Array(Buffer.from(text)), {
    cost: traversalCost,
    estimatedCost: estimateTraversal,
    resultSize: bytesSize,
  }),

  same('double', doubleType),
  globalFunction('double', [intType], doubleType, value => Number(value)),
  globalFunction('double', [stringType], doubleType, text => parsed(parseDouble(text), 'double')),
  globalFunction('double', [uintType], doubleType, ({ value }) => Number(value)),

  same('duration', durationType),
  globalFunction('duration', [stringType], durationType, text =>
    parsed(parseDuration(text), 'google.protobuf.Duration'),
  ),

  same('int', intType),
  globalFunction('int', [doubleType], intType, doubleToInt),
  globalFunction('int', [durationType], intType, ({ nanoseconds }) => nanoseconds),
  globalFunction('int', [stringType], intType, text => parsed(parseInteger(text), 'int')),
  globalFunction('int', [timestampType], intType, ({ nanoseconds }) => floorSeconds(nanoseconds)),
  globalFunction('int', [uintType], intType, ({ value }) => toInt(value)),

  same('string', stringType),
  ...[boolType, doubleType, durationType, intType, timestampType, uintType].map(type =>
    globalFunction<readonly [Value]>('string', [type], stringType, value => showScalar(value) ?? ''),
  ),
  globalFunction('string', [bytesType], stringType, decode, {
    cost: traversalCost,
    estimatedCost: estimateTraversal,
    resultSize: decodedSize,
  }),

  same('timestamp', timestampType),
  globalFunction('timestamp', [intType], timestampType, seconds => toTimestamp(seconds * second)),
  globalFunction('timestamp', [stringType], timestampType, text =>
    parsed(parseTimestamp(text), 'google.protobuf.Timestamp'),
  ),

  same('uint', uintType),
  globalFunction('uint', [doubleType], uintType, doubleToUint),
  globalFunction('uint', [intType], uintType, toUint),
  globalFunction('uint', [stringType], uintType, text => parsed(parseUnsigned(text), 'uint')),
]

const second = 1_000_000_000n
/** Longer numbers are out of range unless padded with zeros. */
const digitsMax = 100
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The result of `string()`; undefined for unsupported types. */
export function showScalar(value: Value): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return showDouble(value)
  if (value instanceof Uint) return value.value.toString()
  if (value instanceof Timestamp) return showTimestamp(value)
  if (value instanceof Duration) return showDuration(value)
  return value instanceof Uint8Array ? decode(value) : undefined
}

function same<T extends Value>(name: string, type: Typed<T> & Type): Overload {
  return globalFunction<readonly [T]>(name, [type], type, value => value)
}

/** A character has one to four bytes. */
const characterBytesMax = 4n

function bytesSize({ size: { min, max } }: Operand): Estimate {
  return { min, max: uint64(max * characterBytesMax) }
}

function decodedSize({ size: { min, max } }: Operand): Estimate {
  return { min: min / characterBytesMax, max }
}

function parsed<T>(value: T | undefined, type: string): T {
  if (value === undefined) throw new Fault(`type conversion error from 'string' to '${type}'`)
  return value
}

const trueWords: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const falseWords: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

function parseBool(text: string): boolean | undefined {
  if (trueWords.has(text)) return true
  return falseWords.has(text) ? false : undefined
}

function parseInteger(text: string): bigint | undefined {
  if (text.length > digitsMax || !/^[+-]?[0-9]+$/.test(text)) return undefined
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return value < int64Min || value > int64Max ? undefined : value
}

function parseUnsigned(text: string): Uint | undefined {
  if (text.length > digitsMax || !/^[0-9]+$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= 2n ** 64n ? undefined : new Uint(value)
}

const decimal = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
/** More characters than any double needs. */
const doubleCharactersMax = 2_000

export function parseDouble(text: string): number | undefined {
  const word = /^([+-]?)(inf(?:inity)?|nan)$/i.exec(text)
  if (word !== null) {
    if (word[2]!.toLowerCase() === 'nan') return Number.NaN
    return word[1] === '-' ? -Infinity : Infinity
  }
  if (text.length > doubleCharactersMax || !decimal.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

function doubleToInt(value: number): bigint {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) throw new Fault('integer overflow')
  return BigInt(Math.trunc(value))
}

function doubleToUint(value: number): Uint {
  if (!(value >= 0 && value < 2 ** 64)) throw new Fault('unsigned integer overflow')
  return new Uint(BigInt(Math.trunc(value)))
}

function floorSeconds(nanoseconds: bigint): bigint {
  const whole = nanoseconds / second
  return nanoseconds < 0n && whole * second !== nanoseconds ? whole - 1n : whole
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new Fault('invalid UTF-8 in bytes, cannot convert to string')
  }
}
