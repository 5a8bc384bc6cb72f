/**
 * The wire format of Protocol Buffers. A message is described by data, `message({ key: [1, 'bytes'], ... })`,
 * and the description gives both its TypeScript type and its encoding. There is no `.proto` parser, no
 * reflection and no service: gRPC carries bytes. Other kinds of descriptions can be built on `Reader` and
 * `Writer`. Unknown fields are skipped, not preserved. For any input, decoding throws only `ProtobufError`
 * and takes time and memory proportional to its length.
 */
import { assert } from './assert.ts'
import { MessageCodec, type CompiledField, type MapField } from './protobuf/message-codec.ts'
import { Reader } from './protobuf/reader.ts'
import {
  lengthDelimited,
  scalarCodecs,
  type ScalarType,
  type ScalarValues,
  type ValueCodec,
} from './protobuf/value-codec.ts'

export { ProtobufError } from './protobuf/protobuf-error.ts'
export { Reader } from './protobuf/reader.ts'
export { Writer } from './protobuf/writer.ts'

/**
 * A proto3 message: an absent number, string, bytes or boolean decodes as zero or empty, and a zero or empty
 * one is not encoded, unless the field is labelled `optional`.
 */
export function message<const F extends Fields>(
  fields: F,
  options: MessageOptions<F> = {},
): Message<Decoded<F>, Encodable<F>> {
  return new Message(fields, { oneOf: options.oneOf ?? [], sparse: false })
}

/**
 * A proto2 message: absent fields are absent in the decoded object, and present fields are encoded even if
 * zero. Repeated numbers are not packed.
 */
export function sparseMessage<const F extends Fields>(
  fields: F,
  options: MessageOptions<F> = {},
): Message<SparselyDecoded<F>, Encodable<F>> {
  return new Message(fields, { oneOf: options.oneOf ?? [], sparse: true })
}

/** The type of a field `map<K, V>`, represented as an object with the keys as strings. */
export function map<K extends KeyType, const V extends FieldType>(key: K, value: V): MapType<K, V> {
  return { map: [key, value] }
}

/** A type with different representations in TypeScript and on the wire. Undefined when absent. */
export function converted<const T extends FieldType, V>(
  wire: T,
  conversion: Conversion<T, V>,
): ConvertedType<T, V> {
  return { wire, conversion }
}

export class Message<Out, In = Out> {
  readonly #fields: Fields
  readonly #options: CompileOptions
  /** Created on first use, since descriptions may be recursive. */
  #codec: MessageCodec | undefined

  constructor(fields: Fields, options: CompileOptions) {
    this.#fields = fields
    this.#options = options
  }

  encode(value: In): Uint8Array {
    return this.codec.encode(value as Readonly<Record<string, unknown>>)
  }

  /** Byte fields of the result share memory with the argument. */
  decode(bytes: Uint8Array): Out {
    return this.codec.decode(bytes) as Out
  }

  /** For messages that embed this one. */
  get codec(): MessageCodec {
    this.#codec ??= new MessageCodec(compile(this.#fields, this.#options), this.#options)
    return this.#codec
  }
}

/** The decoded form of a message description: `type Status = MessageOf<typeof Status>`. */
export type MessageOf<M> = M extends Message<infer Out, infer _In> ? Out : never

export type Fields = Readonly<Record<string, Field>>

/** Field number, type and label. Repeated numbers are packed. */
export type Field = readonly [number: number, type: FieldType, label?: 'optional' | 'repeated']

/** A function refers to a message that is declared later. */
export type FieldType =
  | ScalarType
  | Message<unknown, never>
  | (() => Message<unknown, never>)
  | MapType<KeyType, FieldType>
  | ConvertedType<FieldType, unknown>

export interface MapType<K, V> {
  readonly map: readonly [key: K, value: V]
}

export interface ConvertedType<T, V> {
  readonly wire: T
  readonly conversion: Conversion<T, V>
}

export interface Conversion<T, V> {
  /** May throw ProtobufError. */
  decode(wire: DecodedType<T>): V
  encode(value: V): EncodableType<T>
}

export interface MessageOptions<F> {
  /** oneof groups: at most one field of each may be set. Each field is a message or labelled `optional`. */
  readonly oneOf?: readonly (readonly (keyof F & string)[])[]
}

interface CompileOptions {
  readonly oneOf: readonly (readonly string[])[]
  readonly sparse: boolean
}

type KeyType = Exclude<ScalarType, 'float' | 'double' | 'bytes'>

type DecodedType<T> = T extends ScalarType
  ? ScalarValues[T]
  : T extends Message<infer Out, infer _In>
    ? Out
    : T extends () => Message<infer Out, infer _In>
      ? Out
      : T extends MapType<infer _K, infer V>
        ? { readonly [key: string]: DecodedType<V> }
        : T extends ConvertedType<infer _W, infer V>
          ? V
          : never

type EncodableType<T> = T extends ScalarType
  ? ScalarValues[T]
  : T extends Message<infer _Out, infer In>
    ? In
    : T extends () => Message<infer _Out, infer In>
      ? In
      : T extends MapType<infer _K, infer V>
        ? { readonly [key: string]: EncodableType<V> }
        : T extends ConvertedType<infer _W, infer V>
          ? V
          : never

type Decoded<F extends Fields> = { readonly [K in keyof F]: DecodedField<F[K]> }

type DecodedField<F extends Field> = F[2] extends 'repeated'
  ? readonly DecodedType<F[1]>[]
  : F[1] extends MapType<unknown, unknown>
    ? DecodedType<F[1]>
    : F[2] extends 'optional'
      ? DecodedType<F[1]> | undefined
      : F[1] extends ScalarType
        ? DecodedType<F[1]>
        : DecodedType<F[1]> | undefined

type SparselyDecoded<F extends Fields> = {
  readonly [K in keyof F]?: F[K][2] extends 'repeated'
    ? readonly DecodedType<F[K][1]>[]
    : DecodedType<F[K][1]>
}

type Encodable<F extends Fields> = {
  readonly [K in keyof F]?:
    | (F[K][2] extends 'repeated' ? readonly EncodableType<F[K][1]>[] : EncodableType<F[K][1]>)
    | null
    | undefined
}

function compile(fields: Fields, options: CompileOptions): CompiledField[] {
  const numbers = new Set<number>()
  return Object.entries(fields).map(([name, [number, type, label]]) => {
    assert(Number.isInteger(number) && number > 0 && number < 2 ** 29, `field ${name} has a number`)
    assert(!(name in Object.prototype), `field ${name} is a property of Object.prototype`)
    assert(!numbers.has(number), `field number ${number} is used once`)
    numbers.add(number)
    const rivals = options.oneOf.find(group => group.includes(name))?.filter(rival => rival !== name) ?? []
    if (typeof type === 'object' && 'map' in type) {
      const [key, value] = type.map
      return { name, number, rivals, shape: 'map', ...compileMap(key, codecOf(value)) }
    }
    const value = codecOf(type)
    if (label === 'repeated') {
      const packed = !options.sparse && value.wireType !== lengthDelimited
      return { name, number, rivals, shape: 'list', value, packed }
    }
    const hasPresence = options.sparse || label === 'optional'
    assert(rivals.length === 0 || hasPresence || value.zero === undefined, `field ${name} may be absent`)
    return { name, number, rivals, shape: 'single', value, zero: hasPresence ? undefined : value.zero }
  })
}

function compileMap(key: KeyType, value: ValueCodec): Omit<MapField, 'name' | 'number' | 'rivals' | 'shape'> {
  const emptyValue = (): unknown => value.read(new Reader(zeros), undefined)
  return { key: scalarCodecs[key], parseKey: keyParser(key), value, emptyValue }
}

/** Long enough to decode the zero value of any type. */
const zeros = new Uint8Array(8)

function codecOf(type: FieldType): ValueCodec {
  if (typeof type === 'string') return scalarCodecs[type]
  if (typeof type === 'function') return messageValue(type)
  if (type instanceof Message) return messageValue(() => type)
  assert(!('map' in type), 'a map is the type of a field, not of a value')
  const { wire, conversion } = type
  const inner = codecOf(wire)
  return {
    wireType: inner.wireType,
    zero: undefined,
    read: reader => conversion.decode(inner.read(reader, undefined)),
    write: (writer, value) => inner.write(writer, conversion.encode(value)),
  }
}

function messageValue(message: () => Message<unknown, never>): ValueCodec {
  return {
    wireType: lengthDelimited,
    zero: undefined,
    read: (reader, existing) => message().codec.readNested(reader, existing),
    write: (writer, value) => message().codec.writeNested(writer, value),
  }
}

/** Object keys are strings in JavaScript; the wire format has typed keys. */
function keyParser(type: KeyType): (text: string) => unknown {
  if (type === 'string') return text => text
  if (type === 'bool') return text => text === 'true'
  return text => {
    const number = Number(text)
    return Number.isSafeInteger(number) || !/^-?\d{1,20}$/.test(text) ? number : BigInt(text)
  }
}
