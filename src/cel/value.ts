/**
 * Run-time values. Integers are `bigint` within 64 bits, unsigned ones `Uint`, doubles `number`; lists and
 * maps are abstract classes, so that JSON can be wrapped without conversion. Values are immutable.
 */
import type { ItemIdentity } from './item-identity.ts'
import type { ObjectType } from './type.ts'

export type Value =
  | null
  | boolean
  | bigint
  | Uint
  | number
  | string
  | Uint8Array
  | ListValue
  | MapValue
  | ObjectValue
  | TypeValue
  | Timestamp
  | Duration
  | Optional
  | OpaqueValue

/** A map key. */
export type Key = boolean | bigint | Uint | string

/** An unsigned 64-bit integer. */
export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    this.value = value
  }
}

/** Nanoseconds since 1970, within the years 1 to 9999. */
export class Timestamp {
  readonly nanoseconds: bigint

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds
  }
}

/** Nanoseconds within 64 bits. */
export class Duration {
  readonly nanoseconds: bigint

  constructor(nanoseconds: bigint) {
    this.nanoseconds = nanoseconds
  }
}

/** A type as a value: the result of `type(x)`. Equal if the names are equal. */
export class TypeValue {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** An optional value: `a.?b`, `optional.of(1)`. */
export class Optional {
  static readonly none = new Optional(undefined)
  readonly value: Value | undefined

  constructor(value: Value | undefined) {
    this.value = value
  }
}

/** A value of an extension type without fields: `class Quantity extends OpaqueValue`. */
export abstract class OpaqueValue {
  /** The name passed to `opaque()`. */
  abstract readonly typeName: string
  /** Compares with a value of the same type name. */
  abstract equals(other: OpaqueValue): boolean
}

export abstract class ListValue {
  /** Undefined if items are identified by their position. */
  readonly identity: ItemIdentity | undefined
  abstract readonly size: number
  /** The index must be in range. */
  abstract at(index: number): Value

  constructor(identity?: ItemIdentity) {
    this.identity = identity
  }

  *[Symbol.iterator](): IterableIterator<Value> {
    for (let index = 0; index < this.size; index++) yield this.at(index)
  }
}

export abstract class MapValue {
  abstract readonly size: number
  /** The numeric keys 1, 1u and 1.0 are the same key. */
  abstract get(key: Value): Value | undefined
  abstract keys(): Iterable<Key>
}

/** A value of a type with fields. */
export abstract class ObjectValue {
  abstract readonly type: ObjectType
  /** Undefined when the field is absent. */
  abstract field(name: string): Value | undefined
  /** The fields that are present. */
  abstract names(): Iterable<string>

  /** Properties without a type, such as preserved unknown fields: not visible, but compared. */
  hiddenProperties(): ReadonlyMap<string, Value> {
    return noProperties
  }
}

const noProperties: ReadonlyMap<string, Value> = new Map()

/** A list of the given values. */
export function list(values: readonly Value[], identity?: ItemIdentity): ListValue {
  return new ArrayList(values, identity)
}

/** A map of values; a later entry replaces an earlier one with the same key. */
export function map(entries: Iterable<readonly [Key, Value]>): MapValue {
  const builder = new MapBuilder()
  for (const [key, value] of entries) builder.set(key, value)
  return builder.build()
}

/** Builds a map entry by entry. Must not be used after building. */
export class MapBuilder {
  readonly #entries = new Map<MapIndex, readonly [Key, Value]>()

  has(key: Key): boolean {
    const index = mapIndex(key)
    return index !== undefined && this.#entries.has(index)
  }

  set(key: Key, value: Value): void {
    const index = mapIndex(key)
    if (index !== undefined) this.#entries.set(index, [key, value])
  }

  build(): MapValue {
    return new EntryMap(this.#entries)
  }
}

export function isKey(value: Value): value is Key {
  return (
    typeof value === 'string' ||
    typeof value === 'bigint' ||
    typeof value === 'boolean' ||
    value instanceof Uint
  )
}

/** An object of the given field values. */
export function object(type: ObjectType, fields: ReadonlyMap<string, Value>): ObjectValue {
  return new FieldObject(type, fields)
}

export function optionalOfValue(value: Value | undefined): Optional {
  return value === undefined ? Optional.none : new Optional(value)
}

/** The type name of a value as in `type()` and messages: `int`, `list`, `google.protobuf.Timestamp`. */
export function typeName(value: Value): string {
  if (value === null) return 'null_type'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int'
  return typeof value === 'number' ? 'double' : objectTypeName(value)
}

/** A key or index as shown in messages. */
export function showKey(key: Value): string {
  if (key instanceof Uint) return key.value.toString()
  return typeof key === 'object' ? typeName(key) : String(key)
}

type MapIndex = boolean | bigint | string

/** A canonical form, the same for equal keys; undefined if the value cannot be a key. */
function mapIndex(key: Value): MapIndex | undefined {
  if (typeof key === 'string' || typeof key === 'bigint' || typeof key === 'boolean') return key
  if (key instanceof Uint) return key.value
  if (typeof key === 'number' && Number.isInteger(key)) return BigInt(key)
  return undefined
}

class ArrayList extends ListValue {
  readonly #values: readonly Value[]

  constructor(values: readonly Value[], identity?: ItemIdentity) {
    super(identity)
    this.#values = values
  }

  override get size(): number {
    return this.#values.length
  }

  override at(index: number): Value {
    return this.#values[index] ?? null
  }

  override [Symbol.iterator](): IterableIterator<Value> {
    return this.#values.values()
  }
}

class EntryMap extends MapValue {
  readonly #entries: ReadonlyMap<MapIndex, readonly [Key, Value]>

  constructor(entries: ReadonlyMap<MapIndex, readonly [Key, Value]>) {
    super()
    this.#entries = entries
  }

  override get size(): number {
    return this.#entries.size
  }

  override get(key: Value): Value | undefined {
    const index = mapIndex(key)
    return index === undefined ? undefined : this.#entries.get(index)?.[1]
  }

  override *keys(): Generator<Key> {
    for (const [key] of this.#entries.values()) yield key
  }
}

class FieldObject extends ObjectValue {
  override readonly type: ObjectType
  readonly #fields: ReadonlyMap<string, Value>

  constructor(type: ObjectType, fields: ReadonlyMap<string, Value>) {
    super()
    this.type = type
    this.#fields = fields
  }

  override field(name: string): Value | undefined {
    return this.#fields.get(name)
  }

  override names(): Iterable<string> {
    return this.#fields.keys()
  }
}

function objectTypeName(value: Exclude<Value, null | boolean | bigint | number | string>): string {
  if (value instanceof ListValue) return 'list'
  if (value instanceof MapValue) return 'map'
  if (value instanceof Uint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp'
  if (value instanceof Duration) return 'google.protobuf.Duration'
  if (value instanceof TypeValue) return 'type'
  if (value instanceof Optional) return 'optional_type'
  return value instanceof ObjectValue ? value.type.name : value.typeName
}
