/**
 * Types that are scalars in JSON and messages on the wire: `Time`, `MicroTime`, `Quantity`, `IntOrString`,
 * and raw JSON.
 */
import { assert } from '#/base/assert.ts'
import { ProtobufError, type Reader, type Writer } from '#/base/protobuf.ts'
import { isInt32 } from '../text/int64.ts'
import { parseJson, stringifyJson } from '../text/json.ts'
import { normalizeQuantity } from '../text/quantity.ts'
import { formatTime } from '../text/time.ts'
import { lengthDelimited, varint, writeZero, type ValueCodec } from './value-codec.ts'

export const timeCodec: ValueCodec = makeTimeCodec({ fractionDigits: 0 })
export const microTimeCodec: ValueCodec = makeTimeCodec({ fractionDigits: 6 })

export const quantityCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    assert(typeof value === 'string', 'quantity must be a string')
    const start = writer.open()
    writer.uint32(firstText)
    writer.string(value)
    writer.close(start)
  },
  writeZero: writer => quantityCodec.write(writer, '0'),
  read: reader => {
    let text = '0'
    const outer = reader.enter()
    while (!reader.atEnd) {
      if (reader.fieldNumber() === 1 && reader.wireType === lengthDelimited) text = reader.string()
      else reader.skip()
    }
    reader.leave(outer)
    const quantity = normalizeQuantity(text)
    if (quantity === undefined) throw new ProtobufError('invalid quantity')
    return quantity
  },
  isZero: value => value === '0',
}

export const intOrStringCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    assert(typeof value === 'string' || isInt32(value), 'IntOrString must be an int32 or a string')
    const isText = typeof value === 'string'
    const start = writer.open()
    writer.uint32(firstNumber)
    writer.uint32(isText ? 1 : 0)
    writer.uint32(secondNumber)
    writer.int32(isText ? 0 : value)
    writer.uint32(thirdText)
    writer.string(isText ? value : '')
    writer.close(start)
  },
  writeZero: writer => intOrStringCodec.write(writer, 0),
  read: reader => {
    let type = 0
    let number = 0
    let text = ''
    const outer = reader.enter()
    while (!reader.atEnd) {
      const field = reader.fieldNumber()
      if (field === 1 && reader.wireType === varint) type = reader.int32()
      else if (field === 2 && reader.wireType === varint) number = reader.int32()
      else if (field === 3 && reader.wireType === lengthDelimited) text = reader.string()
      else reader.skip()
    }
    reader.leave(outer)
    if (type !== 0 && type !== 1) throw new ProtobufError('invalid IntOrString type')
    return type === 0 ? number : text
  },
  isZero: value => value === 0,
}

/** `RawExtension`, `FieldsV1` and `JSON`: null is encoded as no bytes. */
export const rawJsonCodec: ValueCodec = {
  wireType: lengthDelimited,
  write: (writer, value) => {
    const start = writer.open()
    writer.uint32(firstText)
    writer.string(stringifyJson(value))
    writer.close(start)
  },
  writeZero,
  read: reader => {
    let raw: Uint8Array | undefined
    const outer = reader.enter()
    while (!reader.atEnd) {
      if (reader.fieldNumber() === 1 && reader.wireType === lengthDelimited) raw = reader.bytes()
      else reader.skip()
    }
    reader.leave(outer)
    return raw === undefined || raw.length === 0 ? null : parseJson(raw)
  },
  isZero: () => false,
}

const firstNumber = 1 * 8 + varint
const secondNumber = 2 * 8 + varint
const firstText = 1 * 8 + lengthDelimited
const thirdText = 3 * 8 + lengthDelimited

/** Year 1, Go's zero time, which is absent in JSON. */
const zeroSeconds = -62_135_596_800
/** JSON can represent the years 0 to 9999. */
const secondsMin = -62_167_219_200
const secondsMax = 253_402_300_799

interface Moment {
  readonly seconds: number
  readonly nanoseconds: number
}

/** The wire allows more digits than the types have; like Kubernetes, both directions truncate them. */
function makeTimeCodec({ fractionDigits }: { readonly fractionDigits: 0 | 6 }): ValueCodec {
  return {
    wireType: lengthDelimited,
    write: (writer, value) => {
      assert(typeof value === 'string', 'time must be a string')
      // Times in objects have a format that `Date.parse` handles, four times as fast as `parseTime`.
      const milliseconds = Date.parse(value)
      assert(!Number.isNaN(milliseconds), 'invalid time')
      const nanoseconds = fractionDigits === 0 ? 0 : nanosecondsOf(value)
      writeMoment(writer, { seconds: Math.floor(milliseconds / 1000), nanoseconds })
    },
    writeZero,
    read: reader => {
      const moment = readMoment(reader)
      const microseconds = fractionDigits === 0 ? 0 : Math.floor(moment.nanoseconds / 1000)
      // Malicious nanoseconds may be negative or exceed a second.
      const carried = Math.floor(microseconds / 1e6)
      return formatMoment(moment.seconds + carried, microseconds - carried * 1e6, fractionDigits)
    },
    isZero: value => value === null,
  }
}

function nanosecondsOf(text: string): number {
  const digits = /\.(\d+)/.exec(text)?.[1] ?? ''
  return Number(digits.slice(0, 6).padEnd(6, '0')) * 1000
}

function formatMoment(seconds: number, microseconds: number, fractionDigits: number): string | null {
  if (seconds === zeroSeconds && microseconds === 0) return null
  if (seconds < secondsMin || seconds > secondsMax) throw new ProtobufError('time out of range')
  const text = formatTime(seconds * 1000)
  if (fractionDigits === 0) return text
  return `${text.slice(0, -1)}.${String(microseconds).padStart(fractionDigits, '0')}Z`
}

function writeMoment(writer: Writer, { seconds, nanoseconds }: Moment): void {
  if (seconds === zeroSeconds && nanoseconds === 0) return writeZero(writer)
  const start = writer.open()
  writer.uint32(firstNumber)
  writer.int64(seconds)
  writer.uint32(secondNumber)
  writer.int32(nanoseconds)
  writer.close(start)
}

function readMoment(reader: Reader): Moment {
  const outer = reader.enter()
  if (reader.atEnd) {
    reader.leave(outer)
    return { seconds: zeroSeconds, nanoseconds: 0 }
  }
  let seconds = 0
  let nanoseconds = 0
  while (!reader.atEnd) {
    const field = reader.fieldNumber()
    if (field === 1 && reader.wireType === varint) seconds = reader.int53()
    else if (field === 2 && reader.wireType === varint) nanoseconds = reader.int32()
    else reader.skip()
  }
  reader.leave(outer)
  return { seconds, nanoseconds }
}
