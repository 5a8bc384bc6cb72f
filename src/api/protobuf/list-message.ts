import { assert } from '#/base/assert.ts'
import type { JsonValue } from '../text/json-value.ts'
import { tagOf } from './field-codec.ts'
import { lengthDelimited, writeZero, type ValueCodec } from './value-codec.ts'

/** A list wrapped in a message, since protobuf map values cannot be lists. */
export function listMessage(item: ValueCodec): ValueCodec {
  const tag = tagOf(1, item.wireType)
  return {
    wireType: lengthDelimited,
    write: (writer, value) => {
      assert(Array.isArray(value), 'expected an array')
      const start = writer.open()
      for (const each of value) {
        writer.uint32(tag)
        item.write(writer, each)
      }
      writer.close(start)
    },
    writeZero,
    read: reader => {
      const list: JsonValue[] = []
      const outer = reader.enter()
      while (!reader.atEnd) {
        const isItem = reader.fieldNumber() === 1 && reader.wireType === item.wireType
        if (isItem) list.push(item.read(reader, undefined))
        else reader.skip()
      }
      reader.leave(outer)
      return list
    },
    isZero: value => Array.isArray(value) && value.length === 0,
  }
}
