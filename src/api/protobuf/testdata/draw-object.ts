import fc, { type GeneratorValue } from 'fast-check'
import { kindsOf, structDefinition } from '../../definitions.ts'
import { toInt64 } from '../../text/int64.ts'
import { parseJson } from '../../text/json.ts'
import type { JsonValue } from '../../text/json-value.ts'
import { put, type JsonObject } from '../../text/json-object.ts'
import { apiVersionOf } from '../../resource.ts'
import type { ScalarSchema, Schema, StructSchema } from '../../schema.ts'
import { numberedFields, type NumberedField } from '../field-numbers.ts'

/**
 * `exact` objects survive a round trip unchanged. `loose` ones also have zeros, empty lists and empty structs
 * that the wire does not distinguish from absent.
 */
export type Form = 'exact' | 'loose'

export class ObjectDrawer {
  readonly #draw: GeneratorValue
  readonly #form: Form

  constructor(draw: GeneratorValue, form: Form) {
    this.#draw = draw
    this.#form = form
  }

  /** A random object of the kind of a definition. */
  object(definition: string): JsonObject {
    const kind = kindsOf(definition)[0]!
    const { value } = this.#struct(definition, structDefinition(definition), 0)
    return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...(value as JsonObject) }
  }

  #struct(name: string, schema: StructSchema, depth: number): Drawn {
    const object: JsonObject = {}
    let isZero = true
    const numbered = flatFields(name)
    // One draw decides on all optional fields: separate draws would take most of the time.
    const left = depth > depthMax ? -1n : this.#draw(bits)
    numbered.forEach((field, index) => {
      const { schema: type, required } = schema.fields.get(field.name)!
      const isShown = required ? !field.omitEmpty : field.presence === 'shown'
      const isNeeded = this.#form === 'exact' ? isShown : required && !field.omitEmpty
      if (!isNeeded && ((left >> BigInt(index * 2)) & 3n) !== 0n) return
      const drawn = this.#value(type, depth + 1)
      // Protobuf does not distinguish absent lists and maps from empty ones.
      const isNil = type.type === 'list' || type.type === 'map'
      const isTold = (field.presence === 'pointer' && !isNil) || !drawn.isZero
      if (this.#form === 'exact' && !isNeeded && !isTold) return
      object[field.name] = drawn.value
      isZero &&= !isTold
    })
    return { value: object, isZero }
  }

  #value(schema: Schema, depth: number): Drawn {
    if (schema.type === 'struct')
      return this.#struct(schema.name.split('.').slice(-3).join('.'), schema, depth)
    if (schema.type === 'any') return { value: this.#any(schema.name ?? '', depth), isZero: false }
    if (schema.type === 'list') {
      const length = this.#draw(lengths)
      const value = Array.from({ length }, () => this.#value(schema.items, depth).value)
      return { value, isZero: length === 0 }
    }
    if (schema.type !== 'map') return this.#scalar(schema)
    const value: JsonObject = {}
    for (const key of this.#draw(keys)) put(value, key, this.#value(schema.values, depth).value)
    return { value, isZero: Object.keys(value).length === 0 }
  }

  #scalar(schema: ScalarSchema): Drawn {
    const value = this.#draw(scalars[schema.format ?? ''] ?? scalars[schema.type]!)
    const zero = schema.type === 'quantity' ? '0' : ''
    return { value, isZero: value === zero || value === 0 || value === false }
  }

  #any(name: string, depth: number): JsonValue {
    if (!name.includes('JSONSchemaPropsOr')) return this.#draw(json)
    const props = 'apiextensions.v1.JSONSchemaProps'
    if (this.#draw(fc.boolean)) return this.#struct(props, structDefinition(props), depth).value
    if (name.endsWith('OrBool')) return this.#draw(fc.boolean)
    if (name.endsWith('OrStringArray')) return ['a', this.#draw(text)]
    return [this.#struct(props, structDefinition(props), depth).value]
  }
}

interface Drawn {
  readonly value: JsonValue
  /** True if it is Go's zero value. */
  readonly isZero: boolean
}

/** Below this depth only required fields are generated, since some definitions are recursive. */
const depthMax = 6

const oddKeys = ['__proto__', 'constructor', 'toString', '', '9', '10', 'ä', '😀']
const bits = () => fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })
const lengths = () => fc.nat(2)
const key = fc.oneof(fc.constantFrom(...oddKeys), fc.string({ maxLength: 5 }))
const keys = () => fc.uniqueArray(key, { maxLength: 2 })
const text = () => fc.string({ unit: 'grapheme', maxLength: 60 })
const json = () =>
  fc
    .json({ maxDepth: 2 })
    .map(each => parseJson(each))
    .filter(value => value !== null)
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(toInt64)
const seconds = fc.integer({ min: -62_135_596_799, max: 253_402_300_799 })
const toText = (second: number): string => new Date(second * 1000).toISOString().slice(0, 19)

/** By format, or by type if there is no format. */
const scalars: Readonly<Record<string, () => fc.Arbitrary<JsonValue>>> = {
  'string': text,
  'byte': () => fc.uint8Array({ maxLength: 9 }).map(bytes => Buffer.from(bytes).toString('base64')),
  'date-time': () => seconds.map(second => `${toText(second)}Z`),
  'date-time-micro': () =>
    fc
      .tuple(seconds, fc.nat(999_999))
      .map(([second, micro]) => `${toText(second)}.${String(micro).padStart(6, '0')}Z`),
  'boolean': fc.boolean,
  'int32': () => fc.oneof(fc.constant(0), fc.integer()),
  'int64': () => fc.oneof(fc.nat(3), int64),
  'double': () => fc.oneof(fc.nat(3), fc.double({ noNaN: true, noDefaultInfinity: true })),
  'int-or-string': () => fc.oneof(fc.constant(0), fc.integer(), text()),
  'quantity': () => fc.constantFrom('0', '1', '-5', '100m', '128Mi', '1500k', '12e6', '3n'),
}

function flatFields(name: string): readonly NumberedField[] {
  const known = flat.get(name)
  if (known) return known
  const home = name.slice(0, name.lastIndexOf('.'))
  const fields = numberedFields(name)!.flatMap(field =>
    field.shape === 'embedded' ? flatFields(`${home}.${field.name}`) : [field],
  )
  flat.set(name, fields)
  return fields
}

const flat = new Map<string, readonly NumberedField[]>()
