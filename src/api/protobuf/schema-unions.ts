/**
 * Union types in JSONSchemaProps: `items` is a schema or a list of schemas, `additionalProperties` a schema
 * or a boolean, `dependencies` a schema or a list of names.
 */
import type { JsonValue } from '../text/json-value.ts'
import { tagOf } from './field-codec.ts'
import { boolCodec, lengthDelimited, varint, writeZero, type ValueCodec } from './value-codec.ts'

/** An empty list is treated as absent. */
export function schemaOrList(schema: ValueCodec, item: ValueCodec): ValueCodec {
  return {
    wireType: lengthDelimited,
    write: (writer, value) => {
      const start = writer.open()
      for (const each of Array.isArray(value) ? value : [value]) {
        writer.uint32(Array.isArray(value) ? second : first)
        const codec = Array.isArray(value) ? item : schema
        codec.write(writer, each)
      }
      writer.close(start)
    },
    writeZero,
    read: reader => {
      let single: JsonValue = null
      const list: JsonValue[] = []
      const outer = reader.enter()
      while (!reader.atEnd) {
        const number = reader.fieldNumber()
        if (number === 1 && reader.wireType === lengthDelimited) single = schema.read(reader, single)
        else if (number === 2 && reader.wireType === lengthDelimited) list.push(item.read(reader, undefined))
        else reader.skip()
      }
      reader.leave(outer)
      return list.length > 0 ? list : single
    },
    isZero: () => false,
  }
}

/** A schema implies true. */
export function schemaOrBool(schema: ValueCodec): ValueCodec {
  return {
    wireType: lengthDelimited,
    write: (writer, value) => {
      const start = writer.open()
      writer.uint32(tagOf(1, varint))
      boolCodec.write(writer, typeof value === 'boolean' ? value : true)
      if (typeof value !== 'boolean') {
        writer.uint32(second)
        schema.write(writer, value)
      }
      writer.close(start)
    },
    writeZero,
    read: reader => {
      let allows = false
      let single: JsonValue = null
      const outer = reader.enter()
      while (!reader.atEnd) {
        const number = reader.fieldNumber()
        if (number === 1 && reader.wireType === varint) allows = reader.bool()
        else if (number === 2 && reader.wireType === lengthDelimited) single = schema.read(reader, single)
        else reader.skip()
      }
      reader.leave(outer)
      return single ?? allows
    },
    isZero: () => false,
  }
}

const first = tagOf(1, lengthDelimited)
const second = tagOf(2, lengthDelimited)
