import { assert } from '#/base/assert.ts'
import type { Reader, Writer } from '#/base/protobuf.ts'
import type { JsonValue } from '../text/json-value.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import type { FieldCodec } from './field-codec.ts'
import { encodeWith } from './spare-writer.ts'
import { lengthDelimited, type ValueCodec } from './value-codec.ts'

/**
 * A message that is an object in JSON. Its fields are compiled on first use, since messages may be recursive.
 */
export class StructCodec implements ValueCodec {
  readonly wireType = lengthDelimited
  readonly #makeFields: () => readonly FieldCodec[]
  #fields: readonly FieldCodec[] | undefined
  #byNumber: readonly (FieldCodec | undefined)[] | undefined
  /** The message of an empty object. It is not empty: Go writes zero values. */
  #zero: Uint8Array | undefined

  constructor(makeFields: () => readonly FieldCodec[]) {
    this.#makeFields = makeFields
  }

  /** In order of field numbers, as they are written. */
  get fields(): readonly FieldCodec[] {
    this.#fields ??= this.#makeFields()
    return this.#fields
  }

  write(writer: Writer, value: JsonValue): void {
    assert(isObject(value), 'expected an object')
    const start = writer.open()
    this.writeFields(writer, value)
    writer.close(start)
  }

  writeZero(writer: Writer): void {
    this.#zero ??= encodeWith(writer => this.writeFields(writer, {}))
    writer.bytes(this.#zero)
  }

  writeFields(writer: Writer, owner: JsonObject): void {
    for (const field of this.fields) field.write(writer, owner)
  }

  read(reader: Reader, existing: JsonValue | undefined): JsonObject {
    const owner = isObject(existing) ? existing : {}
    const outer = reader.enter()
    this.readFields(reader, owner)
    reader.leave(outer)
    this.complete(owner)
    return owner
  }

  /** Reads to the end of the message. Fields that are unknown or have another wire type are skipped. */
  readFields(reader: Reader, owner: JsonObject): void {
    const byNumber = (this.#byNumber ??= indexByNumber(this.fields))
    while (!reader.atEnd) {
      const number = reader.fieldNumber()
      const field = number < byNumber.length ? byNumber[number] : undefined
      if (field === undefined) reader.skip()
      else field.read(reader, owner)
    }
  }

  /** Adds fields that JSON always includes, after the whole message has been read. */
  complete(owner: JsonObject): void {
    for (const field of this.fields) field.complete?.(owner)
  }

  isZero(value: JsonValue): boolean {
    return isObject(value) && this.fields.every(field => field.isZero(value))
  }
}

function indexByNumber(fields: readonly FieldCodec[]): readonly (FieldCodec | undefined)[] {
  const known = new Map(fields.map(field => [field.number, field]))
  return Array.from({ length: 1 + (fields.at(-1)?.number ?? 0) }, (_, number) => known.get(number))
}
