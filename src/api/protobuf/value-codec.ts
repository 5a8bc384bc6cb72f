import { assert } from '#/base/assert.ts'
import { ProtobufError, type Reader, type Writer } from '#/base/protobuf.ts'
import { isInt64 } from '../int64.ts'
import { toExactNumber } from '../json.ts'
import type { JsonValue } from '../json-value.ts'

/** How JSON values of one type are written and read, the tag aside. */
export interface ValueCodec {
  readonly wireType: number
  write(writer: Writer, value: JsonValue): void
  /** Writes what Go has in a field that was not set. */
  writeZero(writer: Writer): void
  /**
   * Null when it says nothing. `existing` is what the field holds already: one message may come in pieces.
   */
  read(reader: Reader, existing: JsonValue | undefined): JsonValue
  /** Whether the value is what Go has in a field that was not set. */
  isZero(value: JsonValue): boolean
}

/** The wire types: how the length of a value is told. */
export const varint = 0
const eightBytes = 1
export const lengthDelimited = 2

export const stringCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    assert(typeof value === 'string', 'a text is a string')
    writer.string(value)
  },
  writeZero,
  read: reader => reader.string(),
  isZero: value => value === '',
}

export const boolCodec: ValueCodec = {
  wireType: varint,
  write: (writer, value) => {
    assert(typeof value === 'boolean', 'a boolean is true or false')
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
    assert(typeof value === 'number' || typeof value === 'bigint', 'a number is one')
    writer.double(Number(value))
  },
  writeZero: writer => writer.double(0),
  read: reader => {
    const value = reader.double()
    if (!Number.isFinite(value)) throw new ProtobufError('the number is not finite')
    return toExactNumber(value)
  },
  isZero: value => value === 0,
}

/** Base64 in JSON. */
export const bytesCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    assert(typeof value === 'string', 'bytes are a string')
    writer.bytes(Buffer.from(value, 'base64'))
  },
  writeZero,
  read: reader => {
    const bytes = reader.bytes()
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  },
  isZero: value => value === '',
}

/** The zero of numbers and booleans, and nothing of what has its length in front. */
export function writeZero(writer: Writer): void {
  writer.uint32(0)
}

function writeInteger(writer: Writer, value: JsonValue): void {
  assert(isInt64(value), 'a whole number is one')
  writer.int64(value)
}
