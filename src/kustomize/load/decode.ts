import { get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { isInt64 } from '#/api/text/int64.ts'
import { KustomizeError } from '../kustomize-error.ts'

/** Turns JSON into a typed value, with the messages of Go's decoder. A null counts as absent. */
export interface Decoder<T> {
  /** The type in Go, as messages name it. */
  readonly type: string
  decode(value: JsonValue, place: Place): T
}

export interface Place {
  /** The innermost struct and the path from the outermost: `Patch.patches.target.name`. */
  readonly struct: string
  readonly path: readonly string[]
  /** Unknown fields are refused. */
  readonly strict: boolean
}

type Decoded<D> = D extends Decoder<infer T> ? T : never

type Fields = Readonly<Record<string, Decoder<unknown>>>

export type DecodedStruct<F extends Fields> = { readonly [K in keyof F]?: Decoded<F[K]> }

function mismatch(value: JsonValue, type: string, { struct, path }: Place): KustomizeError {
  const target =
    path.length === 0 ? `value of type ${type}` : `struct field ${struct}.${path.join('.')} of type ${type}`
  const literal = type === 'int64' && typeof value === 'number' ? ` ${value}` : ''
  return new KustomizeError(`json: cannot unmarshal ${nameOf(value)}${literal} into Go ${target}`)
}

function nameOf(value: JsonValue): string {
  if (Array.isArray(value)) return 'array'
  if (isObject(value)) return 'object'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : 'number'
}

export const text = textOfType('string')

/** A text whose type has a name in Go. */
export function textOfType(type: string): Decoder<string> {
  return {
    type,
    decode(value, place) {
      if (typeof value !== 'string') throw mismatch(value, type, place)
      return value
    },
  }
}

export const flag: Decoder<boolean> = {
  type: 'bool',
  decode(value, place) {
    if (typeof value !== 'boolean') throw mismatch(value, 'bool', place)
    return value
  },
}

export const integer: Decoder<number | bigint> = {
  type: 'int64',
  decode(value, place) {
    if (!isInt64(value)) throw mismatch(value, 'int64', place)
    return value
  },
}

/** Null items have the zero value of their type, here only that of strings and structs. */
export function list<T>(items: Decoder<T>, zero: T): Decoder<readonly T[]> {
  return {
    type: `[]${items.type}`,
    decode(value, place) {
      if (!Array.isArray(value)) throw mismatch(value, `[]${items.type}`, place)
      return value.map(item => (item === null ? zero : items.decode(item, place)))
    },
  }
}

export const texts = list(text, '')

export const textMap: Decoder<Readonly<Record<string, string>>> = {
  type: 'map[string]string',
  decode(value, place) {
    if (!isObject(value)) throw mismatch(value, 'map[string]string', place)
    const map: Record<string, string> = {}
    for (const key of Object.keys(value)) {
      const member = get(value, key) ?? null
      put(map, key, member === null ? '' : text.decode(member, place))
    }
    return map
  },
}

/** A value that is not looked at. */
export const anything: Decoder<JsonValue> = { type: 'interface {}', decode: value => value }

/** Field names are matched in any case. `embedded` names the Go struct in which a field is declared. */
export function struct<F extends Fields>(
  name: string,
  fields: F,
  embedded?: Readonly<Partial<Record<keyof F, string>>>,
): Decoder<DecodedStruct<F>> {
  const names = new Map(Object.keys(fields).map(field => [field.toLowerCase(), field]))
  return {
    type: `types.${name}`,
    decode(value, place) {
      if (!isObject(value)) throw mismatch(value, `types.${name}`, place)
      const decoded: JsonObject = {}
      for (const key of Object.keys(value)) {
        const field = Object.hasOwn(fields, key) ? key : names.get(key.toLowerCase())
        const decoder = field === undefined ? undefined : fields[field]
        if (field === undefined || decoder === undefined) {
          if (place.strict) throw new KustomizeError(`json: unknown field ${JSON.stringify(key)}`)
          continue
        }
        const member = get(value, key) ?? null
        const owner = embedded?.[field]
        const path = [...place.path, ...(owner === undefined ? [] : owner.split('.')), field]
        if (member !== null)
          put(decoded, field, decoder.decode(member, { ...place, struct: name, path }) as JsonValue)
      }
      return decoded as DecodedStruct<F>
    },
  }
}

export function structs<T extends object>(items: Decoder<T>): Decoder<readonly T[]> {
  return list<T>(items, {} as T)
}

/** Decodes a whole document. */
export function decodeDocument<T>(decoder: Decoder<T>, value: JsonValue, strict: boolean): T {
  const document = value ?? {}
  return decoder.decode(document, { struct: '', path: [], strict })
}
