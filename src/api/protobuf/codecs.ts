/** Compiles schemas and field numbers into codecs. Each message is compiled on first use. */
import { assert, AssertionError } from '#/base/assert.ts'
import { structDefinition } from '../definitions.ts'
import { definitionName } from '../kinds/groups.ts'
import type { Field, Schema, StructSchema } from '../schema.ts'
import { embeddedField, listField, mapField, singleField, tagOf, type FieldCodec } from './field-codec.ts'
import { numberedFields, type NumberedField } from './field-numbers.ts'
import {
  intOrStringCodec,
  microTimeCodec,
  quantityCodec,
  rawJsonCodec,
  timeCodec,
} from './scalar-messages.ts'
import { schemaOrBool, schemaOrList } from './schema-unions.ts'
import { StructCodec } from './struct-codec.ts'
import {
  boolCodec,
  bytesCodec,
  doubleCodec,
  int32Codec,
  int64Codec,
  lengthDelimited,
  stringCodec,
  writeZero,
  type ValueCodec,
} from './value-codec.ts'
import type { JsonValue } from '../text/json-value.ts'

/** The codec of a definition by its short name. */
export function structCodec(shortName: string, schema: StructSchema): StructCodec {
  return structs.getOrInsertComputed(shortName, () => new StructCodec(() => compileFields(shortName, schema)))
}

/** Compiled codecs by short name of the definition. */
const structs = new Map<string, StructCodec>()

/** `schema` is that of the object that contains the fields; an embedded message has no schema. */
function compileFields(shortName: string, schema: StructSchema): readonly FieldCodec[] {
  const numbered = numberedFields(shortName)
  assert(numbered, `${shortName} has no field numbers`)
  return numbered.map(each => {
    if (each.shape === 'embedded') {
      const part = `${shortName.slice(0, shortName.lastIndexOf('.'))}.${each.name}`
      return embeddedField(each, new StructCodec(() => compileFields(part, schema)))
    }
    const field = schema.fields.get(each.name)
    assert(field, `${shortName} has no field ${each.name}`)
    return compileField(each, field)
  })
}

function compileField(numbered: NumberedField, { schema, required }: Field): FieldCodec {
  const { number, name, presence, omitEmpty, shape } = numbered
  const isShown = (required && !omitEmpty) || presence === 'shown'
  if (shape === 'plain' && schema.type === 'list') {
    return listField({ number, name, isShown }, codecOf(schema.items))
  }
  if (schema.type === 'map') return mapField({ number, name, isShown }, codecOf(schema.values))
  const isPointer = presence === 'pointer'
  // In Go, absent lists and bytes are nil without a pointer.
  const isBytes = schema.type === 'string' && schema.format === 'byte'
  return singleField(
    {
      number,
      name,
      isAlwaysWritten: !isPointer && !isBytes && shape !== 'list-message',
      isAbsentWhenZero: !isShown && !isPointer,
      isPointer,
    },
    codecOf(schema),
  )
}

function codecOf(schema: Schema): ValueCodec {
  switch (schema.type) {
    case 'struct':
      return structCodec(shortNameOf(schema.name), schema)
    case 'list':
      return listMessage(codecOf(schema.items))
    case 'any':
      return schemaUnion(schema.name ?? '') ?? rawJsonCodec
    case 'boolean':
      return boolCodec
    case 'integer':
      return schema.format === 'int32' ? int32Codec : int64Codec
    case 'number':
      return doubleCodec
    case 'int-or-string':
      return intOrStringCodec
    case 'quantity':
      return quantityCodec
    case 'string':
      return stringCodecs.get(schema.format) ?? stringCodec
    case 'map':
      throw new AssertionError('a map must be a field')
  }
}

const stringCodecs: ReadonlyMap<string | undefined, ValueCodec> = new Map([
  ['byte', bytesCodec],
  ['date-time', timeCodec],
  ['date-time-micro', microTimeCodec],
])

function schemaUnion(name: string): ValueCodec | undefined {
  const props = 'apiextensions.v1.JSONSchemaProps'
  if (!name.startsWith(`${definitionName(props)}Or`)) return undefined
  const schema = structCodec(props, structDefinition(props))
  if (name.endsWith('OrBool')) return schemaOrBool(schema)
  return schemaOrList(schema, name.endsWith('OrStringArray') ? stringCodec : schema)
}

/** `core.v1.Pod` for `io.k8s.api.core.v1.Pod`. */
function shortNameOf(name: string): string {
  return name.split('.').slice(-3).join('.')
}

/** A list wrapped in a message, since protobuf map values cannot be lists. */
function listMessage(item: ValueCodec): ValueCodec {
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
