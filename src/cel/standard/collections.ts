/** `size`, `in` and indexing. */
import { lookupCost } from '../cost.ts'
import { equals } from '../equality.ts'
import { Fault } from '../fault.ts'
import { globalFunction, method, type Overload, type OverloadOptions } from '../function.ts'
import {
  boolType,
  bytesType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  parameter,
  stringType,
  type Typed,
} from '../type.ts'
import {
  ListValue,
  MapValue,
  Optional,
  optionalOfValue,
  showKey,
  typeName,
  Uint,
  type Value,
} from '../value.ts'
import { countCharacters } from './text.ts'

const [key, element] = [parameter('A'), parameter('B')]
const anyList = listOf(element)
const anyMap = mapOf(key, element)
const byKey = { cost: (_: Value, at: Value) => lookupCost(at) }

export const collections: readonly Overload[] = [
  ...sized(bytesType, bytes => bytes.length),
  ...sized(anyList, list => list.size),
  ...sized(anyMap, map => map.size),
  ...sized(stringType, countCharacters, { cost: countCost }),

  globalFunction(
    '@in',
    [element, anyList],
    boolType,
    (value, list) => {
      for (const each of list) if (equals(value, each)) return true
      return false
    },
    { estimatedCost: (_, list) => list.size },
  ),
  globalFunction('@in', [key, anyMap], boolType, (value, map) => map.get(value) !== undefined),

  globalFunction('_[_]', [anyList, intType], element, listElement),
  globalFunction('_[_]', [anyMap, key], element, mapElement, byKey),
  globalFunction('_[_]', [optionalOf(anyList), intType], optionalOf(element), (optional, index) =>
    indexOptional(optional, index),
  ),
  globalFunction('_[_]', [optionalOf(anyMap), key], optionalOf(element), indexOptional, byKey),

  globalFunction('_[?_]', [anyList, intType], optionalOf(element), (list, index) =>
    optionalOfValue(findElement(list, index)),
  ),
  globalFunction(
    '_[?_]',
    [anyMap, key],
    optionalOf(element),
    (map, at) => optionalOfValue(map.get(at)),
    byKey,
  ),
  globalFunction('_[?_]', [optionalOf(anyList), intType], optionalOf(element), (optional, index) =>
    indexOptional(optional, index),
  ),
  globalFunction('_[?_]', [optionalOf(anyMap), key], optionalOf(element), indexOptional, byKey),
]

function sized<T extends Value>(
  type: Typed<T>,
  size: (value: T) => number,
  options: OverloadOptions<readonly [T]> = {},
): Overload[] {
  const call = (value: T): bigint => BigInt(size(value))
  return [
    globalFunction<readonly [T]>('size', [type], intType, call, options),
    method<readonly [T]>('size', [type], intType, call, options),
  ]
}

/** Free in Kubernetes; here only for short strings. */
function countCost(text: string): number {
  return Math.max(1, Math.ceil(text.length / 100))
}

function listElement(list: ListValue, index: Value): Value {
  const value = findElement(list, index)
  if (value === undefined) throw new Fault(`index out of bounds: ${showKey(index)}`)
  return value
}

function mapElement(map: MapValue, at: Value): Value {
  const value = map.get(at)
  if (value === undefined) throw new Fault(`no such key: ${showKey(at)}`)
  return value
}

function findElement(list: ListValue, index: Value): Value | undefined {
  const at = index instanceof Uint ? index.value : index
  if (typeof at !== 'bigint' && typeof at !== 'number') {
    throw new Fault(`unsupported index type '${typeName(index)}' in list`)
  }
  if (typeof at === 'number' && !Number.isInteger(at)) {
    throw new Fault(`unsupported index value ${at} in list`)
  }
  return at >= 0 && at < list.size ? list.at(Number(at)) : undefined
}

function indexOptional({ value }: Optional, at: Value): Optional {
  if (value === undefined) return Optional.none
  if (value instanceof MapValue) return optionalOfValue(value.get(at))
  if (value instanceof ListValue) return optionalOfValue(findElement(value, at))
  throw new Fault('no such overload')
}
