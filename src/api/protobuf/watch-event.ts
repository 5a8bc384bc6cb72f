/**
 * Watch event framing: messages with a length prefix of four bytes, big-endian. They have the kind
 * `WatchEvent`, no envelope, and contain the object with its envelope.
 */
import { ProtobufError, Reader } from '#/base/protobuf.ts'
import { tagOf } from './field-codec.ts'
import { encodeWith } from './spare-writer.ts'
import { lengthDelimited } from './value-codec.ts'

export interface RawWatchEvent {
  readonly type: string
  /** The object with its envelope. */
  readonly object: Uint8Array
}

export function writeFrame({ type, object }: RawWatchEvent): Uint8Array {
  const message = encodeWith(writer => {
    writer.uint32(first)
    writer.string(type)
    writer.uint32(second)
    const start = writer.open()
    writer.uint32(first)
    writer.bytes(object)
    writer.close(start)
  })
  const frame = Buffer.allocUnsafeSlow(lengthBytes + message.length)
  frame.writeUInt32BE(message.length)
  frame.set(message, lengthBytes)
  return frame
}

/** Reads a frame without its length prefix. The object shares memory with it. Throws ProtobufError. */
export function readWatchEvent(message: Uint8Array): RawWatchEvent {
  const reader = new Reader(message)
  let type = ''
  let object: Uint8Array | undefined
  while (!reader.atEnd) {
    const number = reader.fieldNumber()
    if (number === 1 && reader.wireType === lengthDelimited) type = reader.string()
    else if (number === 2 && reader.wireType === lengthDelimited) object = readRaw(reader)
    else reader.skip()
  }
  if (object === undefined) throw new ProtobufError('watch event without object')
  return { type, object }
}

/** Size of the length prefix. */
export const lengthBytes = 4

const first = tagOf(1, lengthDelimited)
const second = tagOf(2, lengthDelimited)

function readRaw(reader: Reader): Uint8Array | undefined {
  let raw: Uint8Array | undefined
  const outer = reader.enter()
  while (!reader.atEnd) {
    if (reader.fieldNumber() === 1 && reader.wireType === lengthDelimited) raw = reader.bytes()
    else reader.skip()
  }
  reader.leave(outer)
  return raw
}
