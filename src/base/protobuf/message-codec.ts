import { ProtobufError } from './protobuf-error.ts'
import { Reader } from './reader.ts'
import { lengthDelimited, type ValueCodec } from './value-codec.ts'
import { Writer } from './writer.ts'

export type CompiledField = SingleField | ListField | MapField

interface AnyField {
  readonly name: string
  readonly number: number
  readonly value: ValueCodec
  /** The other fields of the same oneof. */
  readonly rivals: readonly string[]
}

interface SingleField extends AnyField {
  readonly shape: 'single'
  /** Default value of an absent field, not encoded; undefined for a field with presence. */
  readonly zero: unknown
}

interface ListField extends AnyField {
  readonly shape: 'list'
  readonly packed: boolean
}

export interface MapField extends AnyField {
  readonly shape: 'map'
  readonly key: ValueCodec
  readonly parseKey: (text: string) => unknown
  /** Value of a map entry without a value field. */
  readonly emptyValue: () => unknown
}

type Target = Record<string, unknown>

export class MessageCodec {
  readonly #fields: readonly CompiledField[]
  readonly #lists: readonly (ListField | MapField)[]
  /** Fields with numbers below `nearMax`, by number; the rest are in `#distant`. */
  readonly #near: readonly (CompiledField | undefined)[]
  readonly #distant: ReadonlyMap<number, CompiledField>
  /** Default values of all fields except lists and maps. */
  readonly #empty: Readonly<Target>
  readonly #sparse: boolean

  constructor(fields: readonly CompiledField[], options: { readonly sparse: boolean }) {
    // Sorted by field number, the order in which other implementations encode.
    this.#fields = [...fields].sort((left, right) => left.number - right.number)
    this.#lists = fields.filter(field => field.shape !== 'single')
    this.#distant = new Map(fields.map(field => [field.number, field]))
    const nearest = this.#fields.findLast(field => field.number < nearMax)?.number ?? 0
    this.#near = Array.from({ length: nearest + 1 }, (_, number) => this.#distant.get(number))
    this.#sparse = options.sparse
    const zeroOf = (field: CompiledField): unknown => (field.shape === 'single' ? field.zero : undefined)
    this.#empty = options.sparse ? {} : Object.fromEntries(fields.map(field => [field.name, zeroOf(field)]))
  }

  encode(value: Readonly<Target>): Uint8Array {
    // A nested `encode` call, made by a conversion, finds the spare writer taken and allocates one.
    const writer = spareWriter ?? new Writer()
    spareWriter = undefined
    try {
      this.#write(writer, value)
      return writer.finish()
    } finally {
      writer.reset()
      spareWriter = writer
    }
  }

  decode(bytes: Uint8Array): Target {
    return this.#read(new Reader(bytes), undefined)
  }

  readNested(reader: Reader, existing: unknown): unknown {
    const outer = reader.enter()
    const target = this.#read(reader, existing as Target | undefined)
    reader.leave(outer)
    return target
  }

  writeNested(writer: Writer, value: unknown): void {
    if (typeof value !== 'object' || value === null) throw new ProtobufError('the value is not a message')
    const start = writer.open()
    this.#write(writer, value as Target)
    writer.close(start)
  }

  #read(reader: Reader, existing: Target | undefined): Target {
    const target = existing ?? { ...this.#empty }
    while (!reader.atEnd) {
      const number = reader.fieldNumber()
      const field = number < this.#near.length ? this.#near[number] : this.#distant.get(number)
      if (field === undefined) {
        reader.skip()
        continue
      }
      try {
        readField(reader, field, target)
      } catch (error) {
        throw error instanceof ProtobufError ? error.within(field.name) : error
      }
    }
    if (!this.#sparse) {
      for (const field of this.#lists) target[field.name] ??= field.shape === 'list' ? [] : {}
    }
    return target
  }

  #write(writer: Writer, value: Readonly<Target>): void {
    for (const field of this.#fields) {
      const content = value[field.name]
      if (content === undefined || content === null) continue
      try {
        for (const rival of field.rivals) {
          const isThere = value[rival] !== undefined && value[rival] !== null
          if (isThere) throw new ProtobufError(`oneof: ${rival} is also set`)
        }
        writeField(writer, field, content)
      } catch (error) {
        throw error instanceof ProtobufError ? error.within(field.name) : error
      }
    }
  }
}

/** Fields with numbers below this are looked up in an array. */
const nearMax = 256

let spareWriter: Writer | undefined

/** A field with the wrong wire type is skipped like an unknown field. */
function readField(reader: Reader, field: CompiledField, target: Target): void {
  const { name, value } = field
  const { wireType } = reader
  if (field.shape === 'single') {
    if (wireType !== value.wireType) return reader.skip()
    target[name] = value.read(reader, target[name])
    for (const rival of field.rivals) target[rival] = undefined
    return
  }
  if (field.shape === 'map') {
    if (wireType !== lengthDelimited) return reader.skip()
    readEntry(reader, field, (target[name] ??= {}) as Target)
    return
  }
  const isPacked = wireType === lengthDelimited && value.wireType !== lengthDelimited
  if (!isPacked && wireType !== value.wireType) return reader.skip()
  const list = (target[name] ??= []) as unknown[]
  if (!isPacked) {
    list.push(value.read(reader, undefined))
    return
  }
  const outer = reader.enter()
  while (!reader.atEnd) list.push(value.read(reader, undefined))
  reader.leave(outer)
}

function readEntry(reader: Reader, field: MapField, target: Target): void {
  const outer = reader.enter()
  let key = field.key.zero
  let content: unknown
  while (!reader.atEnd) {
    const number = reader.fieldNumber()
    const { wireType } = reader
    if (number === 1 && wireType === field.key.wireType) key = field.key.read(reader, undefined)
    else if (number === 2 && wireType === field.value.wireType) content = field.value.read(reader, content)
    else reader.skip()
  }
  reader.leave(outer)
  const name = String(key)
  content ??= field.emptyValue()
  // An assignment to `__proto__` would change the object's prototype.
  if (name === '__proto__') Object.defineProperty(target, name, { value: content, ...ordinary })
  else target[name] = content
}

const ordinary = { writable: true, enumerable: true, configurable: true }

function writeField(writer: Writer, field: CompiledField, content: unknown): void {
  const { number, value } = field
  const tag = number * 8 + value.wireType
  if (field.shape === 'single') {
    if (isZero(content, field.zero)) return
    writer.uint32(tag)
    value.write(writer, content)
    return
  }
  if (field.shape === 'map') {
    if (typeof content !== 'object' || content === null) throw new ProtobufError('the value is not a map')
    for (const entry of Object.entries(content)) writeEntry(writer, field, entry)
    return
  }
  if (!Array.isArray(content)) throw new ProtobufError('the value is not a list')
  if (!field.packed) {
    for (const item of content) {
      writer.uint32(tag)
      value.write(writer, item)
    }
    return
  }
  if (content.length === 0) return
  writer.uint32(number * 8 + lengthDelimited)
  const start = writer.open()
  for (const item of content) value.write(writer, item)
  writer.close(start)
}

function writeEntry(writer: Writer, field: MapField, [key, item]: readonly [string, unknown]): void {
  writer.uint32(field.number * 8 + lengthDelimited)
  const start = writer.open()
  writer.uint32(8 + field.key.wireType)
  field.key.write(writer, field.parseKey(key))
  writer.uint32(16 + field.value.wireType)
  field.value.write(writer, item)
  writer.close(start)
}

/** True for zero, the empty string, false and empty bytes. Minus zero is not zero. */
function isZero(content: unknown, zero: unknown): boolean {
  if (zero instanceof Uint8Array) return content instanceof Uint8Array && content.length === 0
  return zero !== undefined && Object.is(content, zero)
}
