/**
 * The envelope of every object: four bytes that distinguish protobuf from JSON, and the message `Unknown`
 * with the kind, which the object's own message does not contain.
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
 */
import { ProtobufError, Reader, type Writer } from '#/base/protobuf.ts'
import type { TypeMeta } from '../decoding/type-meta.ts'
import { tagOf } from './field-codec.ts'
import { lengthDelimited } from './value-codec.ts'

export interface Envelope extends TypeMeta {
  /** The object's message; shares memory with the input. */
  readonly raw: Uint8Array
}

/** `k8s` and a zero byte. */
const prefix = [0x6b, 0x38, 0x73, 0x00] as const

/** Writes the envelope up to the object's message and its length. */
export function writeHead(writer: Writer, { apiVersion, kind }: TypeMeta): void {
  // Each value fits in a single varint byte.
  for (const byte of prefix) writer.uint32(byte)
  writer.uint32(tags.first)
  const start = writer.open()
  writer.uint32(tags.first)
  writer.string(apiVersion)
  writer.uint32(tags.second)
  writer.string(kind)
  writer.close(start)
  writer.uint32(tags.second)
}

/** `contentEncoding` and `contentType`, which are always empty. */
export const tail: Uint8Array = Uint8Array.of(tagOf(3, lengthDelimited), 0, tagOf(4, lengthDelimited), 0)

/** Throws ProtobufError. */
export function readEnvelope(bytes: Uint8Array): Envelope {
  const reader = open(bytes)
  let typeMeta: TypeMeta = { apiVersion: '', kind: '' }
  let raw: Uint8Array = new Uint8Array(0)
  while (!reader.atEnd) {
    const number = reader.fieldNumber()
    if (number === 1 && reader.wireType === lengthDelimited) typeMeta = readTypeMeta(reader)
    else if (number === 2 && reader.wireType === lengthDelimited) raw = reader.bytes()
    else reader.skip()
  }
  return { ...typeMeta, raw }
}

/** The object's message without the envelope. */
export function rawOf(bytes: Uint8Array): Uint8Array {
  const reader = open(bytes)
  let raw: Uint8Array = new Uint8Array(0)
  while (!reader.atEnd) {
    if (reader.fieldNumber() === 2 && reader.wireType === lengthDelimited) raw = reader.bytes()
    else reader.skip()
  }
  return raw
}

const tags = { first: tagOf(1, lengthDelimited), second: tagOf(2, lengthDelimited) }

function open(bytes: Uint8Array): Reader {
  if (bytes.length === 0) throw new ProtobufError('empty data')
  if (!prefix.every((byte, index) => bytes[index] === byte)) {
    const expected = `expected prefix [${prefix.join(' ')}]`
    throw new ProtobufError(`provided data does not appear to be a protobuf message, ${expected}`)
  }
  if (bytes.length === prefix.length) throw new ProtobufError('empty body')
  return new Reader(bytes.subarray(prefix.length))
}

function readTypeMeta(reader: Reader): TypeMeta {
  let apiVersion = ''
  let kind = ''
  const outer = reader.enter()
  while (!reader.atEnd) {
    const number = reader.fieldNumber()
    if (number === 1 && reader.wireType === lengthDelimited) apiVersion = reader.string()
    else if (number === 2 && reader.wireType === lengthDelimited) kind = reader.string()
    else reader.skip()
  }
  reader.leave(outer)
  return { apiVersion, kind }
}
