import { assert } from '#/base/assert.ts'
import { ProtobufError, type Reader, type Writer } from '#/base/protobuf.ts'
import { isInt64 } from '../text/int64.ts'
import { toExactNumber } from '../text/json.ts'
import type { JsonValue } from '../text/json-value.ts'

/** Reads and writes JSON values of one type, without the tag. */
export interface ValueCodec {
  readonly wireType: number
  write(writer: Writer, value: JsonValue): void
  /** Writes Go's zero value. */
  writeZero(writer: Writer): void
  /**
   * Null if the value is absent. `existing` is the current value of the field: a message may be split into
   * several parts.
   */
  read(reader: Reader, existing: JsonValue | undefined): JsonValue
  /** True for Go's zero value. */
  isZero(value: JsonValue): boolean
}

/** Wire types. */
export const varint = 0
const eightBytes = 1
export const lengthDelimited = 2

export const stringCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    assert(typeof value === 'string', 'expected a string')
    writer.string(value)
  },
  writeZero,
  read: reader => reader.string(),
  isZero: value => value === '',
}

export const boolCodec: ValueCodec = {
  wireType: varint,
  write: (writer, value) => {
    assert(typeof value === 'boolean', 'expected a boolean')
    writer.bool(value)
  },
  writeZero,
  read: reader => reader.bool(),
  isZero: value => value === false,
}

export const int32Codec: ValueCodec = {
  wireType: varint,
  write: writeInteger,
  writeZero,
  read: reader => reader.int32(),
  isZero: value => value === 0,
}

export const int64Codec: ValueCodec = {
  wireType: varint,
  write: writeInteger,
  writeZero,
  read: reader => reader.int64(),
  isZero: value => value === 0,
}

export const doubleCodec: ValueCodec = {
  wireType: eightBytes,
  write: (writer, value) => {
    assert(typeof value === 'number' || typeof value === 'bigint', 'expected a number')
    writer.double(Number(value))
  },
  writeZero: writer => writer.double(0),
  read: reader => {
    const value = reader.double()
    if (!Number.isFinite(value)) throw new ProtobufError('number is not finite')
    return toExactNumber(value)
  },
  isZero: value => value === 0,
}

/** Base64 in JSON. */
export const bytesCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    assert(typeof value === 'string', 'expected base64 text')
    writer.bytes(Buffer.from(value, 'base64'))
  },
  writeZero,
  read: reader => {
    const bytes = reader.bytes()
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  },
  isZero: value => value === '',
}

/** Zero for numbers and booleans, and length 0 for length-delimited types. */
export function writeZero(writer: Writer): void {
  writer.uint32(0)
}

function writeInteger(writer: Writer, value: JsonValue): void {
  assert(isInt64(value), 'expected an int64')
  writer.int64(value)
}
