/** Codecs of message fields: reading and writing a field of an object, independent of the value type. */
import { assert } from '#/base/assert.ts'
import { Reader, type Writer } from '#/base/protobuf.ts'
import type { JsonValue } from '../text/json-value.ts'
import { isObject, put, type JsonObject } from '../text/json-object.ts'
import { encodeWith } from './spare-writer.ts'
import type { StructCodec } from './struct-codec.ts'
import { lengthDelimited, type ValueCodec } from './value-codec.ts'

export interface FieldCodec {
  readonly number: number
  /** JSON name; for an embedded message its own name. */
  readonly name: string
  write(writer: Writer, owner: JsonObject): void
  /** Reads the value after its tag has been read. */
  read(reader: Reader, owner: JsonObject): void
  isZero(owner: JsonObject): boolean
  /** Sets a field that is always present in JSON but not on the wire. */
  complete?(owner: JsonObject): void
}

export interface FieldFacts {
  readonly number: number
  readonly name: string
}

export interface SingleFacts extends FieldFacts {
  /** Go writes the field even if it is unset. */
  readonly isAlwaysWritten: boolean
  /** JSON omits the field if it is zero. */
  readonly isAbsentWhenZero: boolean
  /** Zero and absent are distinct. */
  readonly isPointer: boolean
}

export function singleField(facts: SingleFacts, value: ValueCodec): FieldCodec {
  const { number, name, isAlwaysWritten, isAbsentWhenZero, isPointer } = facts
  const tag = tagOf(number, value.wireType)
  const isSkippedWhenZero = isAbsentWhenZero && !isAlwaysWritten
  return {
    number,
    name,
    write: (writer, owner) => {
      const content = owner[name]
      if (content !== undefined && content !== null) {
        if (isSkippedWhenZero && value.isZero(content)) return
        writer.uint32(tag)
        value.write(writer, content)
      } else if (isAlwaysWritten) {
        writer.uint32(tag)
        value.writeZero(writer)
      }
    },
    read: (reader, owner) => {
      if (reader.wireType !== value.wireType) return reader.skip()
      const content = value.read(reader, owner[name])
      if (content !== null && !(isAbsentWhenZero && value.isZero(content))) owner[name] = content
      // The last occurrence wins, even if it is zero.
      else if (owner[name] !== undefined) delete owner[name]
    },
    isZero: owner => {
      const content = owner[name]
      return content === undefined || content === null || (!isPointer && value.isZero(content))
    },
  }
}

export interface CollectionFacts extends FieldFacts {
  readonly isShown: boolean
}

export function listField({ number, name, isShown }: CollectionFacts, value: ValueCodec): FieldCodec {
  const tag = tagOf(number, value.wireType)
  return {
    number,
    name,
    write: (writer, owner) => {
      const list = owner[name]
      if (list === undefined || list === null) return
      assert(Array.isArray(list), 'expected an array')
      for (const item of list) {
        writer.uint32(tag)
        writeItem(writer, value, item)
      }
    },
    read: (reader, owner) => {
      const { wireType } = reader
      const isPacked = wireType === lengthDelimited && value.wireType !== lengthDelimited
      if (!isPacked && wireType !== value.wireType) return reader.skip()
      const list = (owner[name] ??= []) as JsonValue[]
      if (isPacked) readPacked(reader, value, list)
      else list.push(value.read(reader, undefined))
    },
    isZero: owner => {
      const list = owner[name]
      return !Array.isArray(list) || list.length === 0
    },
    ...(isShown && { complete: owner => void (owner[name] ??= []) }),
  }
}

export function mapField({ number, name, isShown }: CollectionFacts, value: ValueCodec): FieldCodec {
  const tag = tagOf(number, lengthDelimited)
  const valueTag = tagOf(2, value.wireType)
  return {
    number,
    name,
    write: (writer, owner) => {
      const map = owner[name]
      if (map === undefined || map === null) return
      assert(isObject(map), 'expected an object')
      for (const key of sortedKeys(map)) {
        writer.uint32(tag)
        const start = writer.open()
        writer.uint32(keyTag)
        writer.string(key)
        writer.uint32(valueTag)
        writeItem(writer, value, map[key] as JsonValue)
        writer.close(start)
      }
    },
    read: (reader, owner) => {
      if (reader.wireType !== lengthDelimited) return reader.skip()
      readEntry(reader, value, (owner[name] ??= {}) as JsonObject)
    },
    isZero: owner => {
      const map = owner[name]
      return !isObject(map) || Object.keys(map).length === 0
    },
    ...(isShown && { complete: owner => void (owner[name] ??= {}) }),
  }
}

/** A message whose fields JSON inlines into the surrounding object. */
export function embeddedField({ number, name }: FieldFacts, part: StructCodec): FieldCodec {
  const tag = tagOf(number, lengthDelimited)
  return {
    number,
    name,
    write: (writer, owner) => {
      writer.uint32(tag)
      part.write(writer, owner)
    },
    read: (reader, owner) => {
      if (reader.wireType !== lengthDelimited) return reader.skip()
      part.read(reader, owner)
    },
    isZero: owner => part.isZero(owner),
    complete: owner => part.complete(owner),
  }
}

const keyTag = tagOf(1, lengthDelimited)

export function tagOf(number: number, wireType: number): number {
  return number * 8 + wireType
}

/** An item cannot be absent: null is written as Go's zero value. */
function writeItem(writer: Writer, value: ValueCodec, item: JsonValue): void {
  if (item === null) value.writeZero(writer)
  else value.write(writer, item)
}

function readPacked(reader: Reader, value: ValueCodec, list: JsonValue[]): void {
  const outer = reader.enter()
  while (!reader.atEnd) list.push(value.read(reader, undefined))
  reader.leave(outer)
}

function readEntry(reader: Reader, value: ValueCodec, map: JsonObject): void {
  let key = ''
  let content: JsonValue | undefined
  const outer = reader.enter()
  while (!reader.atEnd) {
    const number = reader.fieldNumber()
    if (number === 1 && reader.wireType === lengthDelimited) key = reader.string()
    else if (number === 2 && reader.wireType === value.wireType) content = value.read(reader, content)
    else reader.skip()
  }
  reader.leave(outer)
  put(map, key, content === undefined ? zeroOf(value) : content)
}

function zeroOf(value: ValueCodec): JsonValue {
  return value.read(new Reader(encodeWith(writer => value.writeZero(writer))), undefined)
}

/** Go writes sorted keys, so that equal maps have equal bytes; most maps are already sorted. */
function sortedKeys(map: JsonObject): string[] {
  const keys = Object.keys(map)
  for (let index = 1; index < keys.length; index++) {
    if (keys[index - 1]! > keys[index]!) return keys.sort()
  }
  return keys
}
