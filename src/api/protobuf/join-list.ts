import { assert } from '#/base/assert.ts'
import type { JsonObject } from '../text/json-object.ts'
import type { TypeMeta } from '../decoding/type-meta.ts'
import { tail, writeHead } from './envelope.ts'
import { tagOf } from './field-codec.ts'
import { encodeWith } from './spare-writer.ts'
import type { StructCodec } from './struct-codec.ts'
import { lengthDelimited } from './value-codec.ts'

export interface ListParts {
  readonly codec: StructCodec
  /** The list without its items. */
  readonly head: JsonObject
  /** Encoded item messages. */
  readonly items: readonly Uint8Array[]
}

/** Assembles a list in a buffer of the exact size, since it may be many megabytes. */
export function joinList(typeMeta: TypeMeta, { codec, head, items }: ListParts): Uint8Array {
  const itemField = codec.fields.find(field => field.name === 'items')
  assert(itemField, `${typeMeta.kind} is not a list`)
  const envelope = encodeWith(writer => writeHead(writer, typeMeta))
  const start = encodeWith(writer => codec.writeFields(writer, head))
  let sizeBytes = start.length
  for (const item of items) sizeBytes += 1 + varintLength(item.length) + item.length
  const bytes = Buffer.allocUnsafeSlow(envelope.length + varintLength(sizeBytes) + sizeBytes + tail.length)
  bytes.set(envelope)
  let position = putVarint(bytes, sizeBytes, envelope.length)
  bytes.set(start, position)
  position += start.length
  for (const item of items) {
    bytes[position] = tagOf(itemField.number, lengthDelimited)
    position = putVarint(bytes, item.length, position + 1)
    bytes.set(item, position)
    position += item.length
  }
  bytes.set(tail, position)
  return bytes
}

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest >>>= 7) length++
  return length
}

/** Returns the position after the varint. */
function putVarint(bytes: Uint8Array, value: number, start: number): number {
  let position = start
  let rest = value
  for (; rest >= 0x80; rest >>>= 7) bytes[position++] = (rest & 0x7f) | 0x80
  bytes[position++] = rest
  return position
}
