/**
 * Converts API objects to values and back. JSON is wrapped lazily: parts that an expression does not read
 * cost nothing. A declared type gives the meaning of a string or number: a timestamp, bytes, a double;
 * without one (dyn) whole numbers are ints and objects are maps.
 */
import { int64Max, int64Min, toInt64 } from '#/api/text/int64.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { EvaluationError } from './evaluation-error.ts'
import { Fault } from './fault.ts'
import { parseDuration, parseTimestamp, showDuration, showTimestamp } from './standard/time-text.ts'
import { dynType, type ListType, type ObjectType, type Type } from './type.ts'
import {
  Duration,
  type Key,
  ListValue,
  MapValue,
  ObjectValue,
  showKey,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from './value.ts'

/** Throws EvaluationError if the value itself does not have the type; its content is checked on access. */
export function fromJson(json: unknown, type: Type): Value {
  return translateFault(() => wrap(json, type))
}

/** Throws EvaluationError for values without a JSON form: types of extensions, NaN. */
export function toJson(value: Value): JsonValue {
  return translateFault(() => unwrap(value))
}

function translateFault<T>(action: () => T): T {
  try {
    return action()
  } catch (error) {
    if (error instanceof Fault) throw new EvaluationError(error.message, 'fault')
    throw error
  }
}

function wrap(json: unknown, type: Type): Value {
  if (json === null || json === undefined) return null
  switch (type.kind) {
    case 'list':
      return Array.isArray(json) ? new JsonList(json, type) : invalid(json, 'array')
    case 'map':
      return isObject(json) ? new JsonMap(json, type.value) : invalid(json, 'map')
    case 'object':
      return isObject(json) ? new JsonObject(json, type.type) : invalid(json, 'map')
    case 'bool':
      return typeof json === 'boolean' ? json : invalid(json, 'bool')
    case 'string':
      return typeof json === 'string' ? json : invalid(json, 'string')
    case 'int':
      return integerOf(json) ?? invalid(json, 'int')
    case 'uint': {
      const value = integerOf(json)
      return value === undefined || value < 0n ? invalid(json, 'uint') : new Uint(value)
    }
    case 'double':
      return typeof json === 'number' || typeof json === 'bigint' ? Number(json) : invalid(json, 'float')
    case 'bytes':
    case 'timestamp':
    case 'duration':
      return typeof json === 'string' ? parseText(json, type.kind) : invalid(json, 'string')
    case 'dyn':
    case 'error':
    case 'null':
    case 'optional':
    case 'parameter':
    case 'opaque':
    case 'type':
      return wrapAny(json)
  }
}

function wrapAny(json: unknown): Value {
  if (typeof json === 'string' || typeof json === 'boolean') return json
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json
  if (typeof json === 'bigint') return integerOf(json) ?? Number(json)
  if (Array.isArray(json)) return new JsonList(json, anyList)
  return isObject(json) ? new JsonMap(json, dynType) : invalid(json, 'JSON')
}

const anyList: ListType = { kind: 'list', element: dynType }

function integerOf(json: unknown): bigint | undefined {
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : undefined
  return typeof json === 'bigint' && json >= int64Min && json <= int64Max ? json : undefined
}

function parseText(text: string, kind: 'bytes' | 'timestamp' | 'duration'): Value {
  if (kind === 'bytes') return new Uint8Array(Buffer.from(text, 'base64'))
  if (kind === 'duration') {
    return parseDuration(text) ?? fail(`Invalid duration ${text}`)
  }
  // A date without time is midnight UTC.
  const moment = /^[0-9-]{10}$/.test(text) ? `${text}T00:00:00Z` : text
  return parseTimestamp(moment) ?? fail(`Invalid date-time formatted string ${text}`)
}

function invalid(json: unknown, expected: string): never {
  const actual = Array.isArray(json) ? 'array' : typeof json
  return fail(`invalid data, expected ${expected}, got ${actual}`)
}

function fail(message: string): never {
  throw new Fault(message)
}

type JsonObjectLike = Readonly<Record<string, unknown>>

function isObject(json: unknown): json is JsonObjectLike {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** An undefined property is absent, and inherited ones such as `__proto__` are ignored. */
function property(json: JsonObjectLike, name: string): unknown {
  return Object.hasOwn(json, name) ? json[name] : undefined
}

/** Caches wrapped values: the size of a large map is counted once, bytes are decoded once. */
class Kept<K> {
  #values: Map<K, Value> | undefined

  get(key: K, json: unknown, type: Type): Value {
    const known = this.#values?.get(key)
    if (known !== undefined) return known
    const value = wrap(json, type)
    if (typeof value === 'object' && value !== null) {
      this.#values ??= new Map()
      this.#values.set(key, value)
    }
    return value
  }
}

class JsonList extends ListValue {
  readonly json: readonly unknown[]
  readonly #element: Type
  readonly #kept = new Kept<number>()

  constructor(json: readonly unknown[], { element, identity }: ListType) {
    super(identity)
    this.json = json
    this.#element = element
  }

  override get size(): number {
    return this.json.length
  }

  override at(index: number): Value {
    return this.#kept.get(index, this.json[index], this.#element)
  }
}

class JsonMap extends MapValue {
  readonly json: JsonObjectLike
  readonly #value: Type
  readonly #kept = new Kept<string>()
  #keys: readonly string[] | undefined

  constructor(json: JsonObjectLike, value: Type) {
    super()
    this.json = json
    this.#value = value
  }

  override get size(): number {
    return this.keys().length
  }

  override get(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined
    const json = property(this.json, key)
    return json === undefined ? undefined : this.#kept.get(key, json, this.#value)
  }

  override keys(): readonly string[] {
    this.#keys ??= Object.keys(this.json).filter(key => this.json[key] !== undefined)
    return this.#keys
  }
}

/** A null field is the same as an absent one. */
function isAbsent(json: unknown): boolean {
  return json === undefined || json === null
}

interface ObjectParts {
  readonly names: readonly string[]
  readonly hidden: ReadonlyMap<string, Value>
}

class JsonObject extends ObjectValue {
  override readonly type: ObjectType
  readonly json: JsonObjectLike
  readonly #kept = new Kept<string>()
  #known: ObjectParts | undefined

  constructor(json: JsonObjectLike, type: ObjectType) {
    super()
    this.json = json
    this.type = type
  }

  override field(name: string): Value | undefined {
    const type = this.type.field(name)
    if (type === undefined) return undefined
    const json = property(this.json, this.type.property?.(name) ?? name)
    return isAbsent(json) ? undefined : this.#kept.get(name, json, type)
  }

  override names(): readonly string[] {
    return this.#parts().names
  }

  override hiddenProperties(): ReadonlyMap<string, Value> {
    return this.#parts().hidden
  }

  /** Computed once: a rule may compare the same objects again and again. */
  #parts(): ObjectParts {
    if (this.#known) return this.#known
    const names: string[] = []
    const hidden = new Map<string, Value>()
    for (const [key, value] of Object.entries(this.json)) {
      if (isAbsent(value)) continue
      const name = this.#visibleName(key)
      if (name === undefined) hidden.set(key, wrapAny(value))
      else names.push(name)
    }
    this.#known = { names, hidden }
    return this.#known
  }

  #visibleName(key: string): string | undefined {
    const name = this.type.fieldOf === undefined ? key : this.type.fieldOf(key)
    return name !== undefined && this.type.field(name) ? name : undefined
  }
}

function unwrap(value: Value): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'bigint') return toInt64(value)
  if (typeof value === 'number') {
    return Number.isFinite(value) ? value : fail(`cannot convert ${value} to JSON`)
  }
  if (value instanceof JsonList || value instanceof JsonMap || value instanceof JsonObject) {
    return value.json as JsonValue
  }
  if (value instanceof ListValue) return Array.from(value, unwrap)
  if (value instanceof MapValue) return jsonObject(value.keys(), key => value.get(key), showKey)
  if (value instanceof ObjectValue) {
    const { type } = value
    return jsonObject(
      value.names(),
      name => value.field(name),
      name => type.property?.(name) ?? name,
    )
  }
  return unwrapScalar(value)
}

function unwrapScalar(value: Value): JsonValue {
  if (value instanceof Uint) return toInt64(value.value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64')
  if (value instanceof Timestamp) return showTimestamp(value)
  if (value instanceof Duration) return showDuration(value)
  if (value instanceof TypeValue) return value.name
  return fail(`cannot convert a value of type ${typeName(value)} to JSON`)
}

/** Entries become own properties, even those named like `__proto__`. */
function jsonObject<K extends Key>(
  keys: Iterable<K>,
  find: (key: K) => Value | undefined,
  name: (key: K) => string,
): JsonValue {
  return Object.fromEntries(Array.from(keys, key => [name(key), unwrap(find(key) ?? null)]))
}
