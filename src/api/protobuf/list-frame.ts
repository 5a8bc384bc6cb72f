import { assert } from '#/base/assert.ts'
import type { JsonObject } from '../text/json-object.ts'
import type { TypeMeta } from '../decoding/type-meta.ts'
import { rawOf, tail, writeHead } from './envelope.ts'
import { tagOf } from './field-codec.ts'
import { encodeWith } from './spare-writer.ts'
import type { StructCodec } from './struct-codec.ts'
import { lengthDelimited } from './value-codec.ts'

export interface ListFrameOptions {
  readonly typeMeta: TypeMeta
  readonly codec: StructCodec
  /** The list without its items. */
  readonly head: JsonObject
  /** The objects of the list with their envelopes. */
  readonly items: readonly Uint8Array[]
}

/** The parts of an encoded list, which may be many megabytes: its start, each object, and its end. */
export interface ProtobufListFrame {
  readonly start: Uint8Array
  /** Pieces of one of the objects. */
  readonly item: (bytes: Uint8Array) => readonly Uint8Array[]
  readonly end: Uint8Array
}

export function listFrame({ typeMeta, codec, head, items }: ListFrameOptions): ProtobufListFrame {
  const itemField = codec.fields.find(field => field.name === 'items')
  assert(itemField, `${typeMeta.kind} is not a list`)
  const tag = tagOf(itemField.number, lengthDelimited)
  const envelope = encodeWith(writer => writeHead(writer, typeMeta))
  const fields = encodeWith(writer => codec.writeFields(writer, head))
  let sizeBytes = fields.length
  for (const item of items) {
    const { length } = rawOf(item)
    sizeBytes += 1 + varintLength(length) + length
  }
  return {
    start: Buffer.concat([envelope, varint(sizeBytes), fields]),
    item: bytes => {
      const raw = rawOf(bytes)
      return [Uint8Array.of(tag), varint(raw.length), raw]
    },
    end: tail,
  }
}

function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest >>>= 7) length++
  return length
}

function varint(value: number): Uint8Array {
  const bytes = new Uint8Array(varintLength(value))
  let rest = value
  for (let index = 0; index < bytes.length; index++, rest >>>= 7) {
    bytes[index] = (rest & 0x7f) | (index < bytes.length - 1 ? 0x80 : 0)
  }
  return bytes
}
