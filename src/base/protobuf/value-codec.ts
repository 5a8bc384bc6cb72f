import { ProtobufError } from './protobuf-error.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** Encoding of one type, without the tag. */
export interface ValueCodec {
  readonly wireType: number
  /** Default value of a field without presence; undefined for a type with presence. */
  readonly zero: unknown
  /** `existing` is the value of an earlier occurrence of the field, to merge with. */
  readonly read: (reader: Reader, existing: unknown) => unknown
  readonly write: (writer: Writer, value: unknown) => void
}

/** TypeScript types of the scalar types. `int53` is an int64 that is rejected unless it is a safe integer. */
export interface ScalarValues {
  int32: number
  uint32: number
  sint32: number
  fixed32: number
  sfixed32: number
  int64: number | bigint
  uint64: number | bigint
  sint64: number | bigint
  fixed64: number | bigint
  sfixed64: number | bigint
  int53: number
  float: number
  double: number
  bool: boolean
  string: string
  bytes: Uint8Array
}

export type ScalarType = keyof ScalarValues

/** The wire type of strings, bytes, messages and packed lists. */
export const lengthDelimited = 2

const varint = numbers(0)
const eightBytes = numbers(1)
const fourBytes = numbers(5)

const isInt32 = wholeBetween(-(2 ** 31), 2 ** 31 - 1)
const isUint32 = wholeBetween(0, 2 ** 32 - 1)
const isInt64 = wideBetween(-(2n ** 63n), 2n ** 63n - 1n)
const isUint64 = wideBetween(0n, 2n ** 64n - 1n)

export const scalarCodecs: Readonly<Record<ScalarType, ValueCodec>> = {
  int32: varint(
    isInt32,
    reader => reader.int32(),
    (writer, value) => writer.int32(value),
  ),
  uint32: varint(
    isUint32,
    reader => reader.uint32(),
    (writer, value) => writer.uint32(value),
  ),
  sint32: varint(
    isInt32,
    reader => reader.sint32(),
    (writer, value) => writer.sint32(value),
  ),
  fixed32: fourBytes(
    isUint32,
    reader => reader.fixed32(),
    (writer, value) => writer.fixed32(value),
  ),
  sfixed32: fourBytes(
    isInt32,
    reader => reader.sfixed32(),
    (writer, value) => writer.fixed32(value),
  ),
  int64: varint(
    isInt64,
    reader => reader.int64(),
    (writer, value) => writer.int64(value),
  ),
  uint64: varint(
    isUint64,
    reader => reader.uint64(),
    (writer, value) => writer.int64(value),
  ),
  sint64: varint(
    isInt64,
    reader => reader.sint64(),
    (writer, value) => writer.sint64(value),
  ),
  fixed64: eightBytes(
    isUint64,
    reader => reader.fixed64(),
    (writer, value) => writer.fixed64(value),
  ),
  sfixed64: eightBytes(
    isInt64,
    reader => reader.sfixed64(),
    (writer, value) => writer.fixed64(value),
  ),
  int53: varint(
    isSafe,
    reader => reader.int53(),
    (writer, value) => writer.int64(value),
  ),
  float: fourBytes(
    isNumber,
    reader => reader.float(),
    (writer, value) => writer.float(value),
  ),
  double: eightBytes(
    isNumber,
    reader => reader.double(),
    (writer, value) => writer.double(value),
  ),
  bool: {
    wireType: 0,
    zero: false,
    read: reader => reader.bool(),
    write: checked(isBoolean, (writer, value) => writer.bool(value)),
  },
  string: {
    wireType: lengthDelimited,
    zero: '',
    read: reader => reader.string(),
    write: checked(isText, (writer, value) => writer.string(value)),
  },
  bytes: {
    wireType: lengthDelimited,
    zero: new Uint8Array(0),
    read: reader => reader.bytes(),
    write: checked(isBytes, (writer, value) => writer.bytes(value)),
  },
}

type Check<T> = (value: unknown) => value is T
type Put<T> = (writer: Writer, value: T) => void

type Get<T> = (reader: Reader) => T

function numbers(wireType: number) {
  return <T extends number | bigint>(fits: Check<T>, read: Get<T>, put: Put<T>): ValueCodec => {
    return { wireType, zero: 0, read, write: checked(fits, put) }
  }
}

function checked<T>(fits: Check<T>, put: Put<T>): ValueCodec['write'] {
  return (writer, value) => {
    if (!fits(value)) throw new ProtobufError('the value does not fit the type')
    put(writer, value)
  }
}

function wholeBetween(least: number, most: number): Check<number> {
  return (value): value is number => {
    return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
  }
}

function wideBetween(least: bigint, most: bigint): Check<number | bigint> {
  const leastNumber = Number(least)
  return (value): value is number | bigint => {
    if (typeof value === 'bigint') return value >= least && value <= most
    return Number.isSafeInteger(value) && (value as number) >= leastNumber
  }
}

function isSafe(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number'
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array
}
