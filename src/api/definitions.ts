/**
 * The definitions of the built-in API as schemas. They are generated in a short notation and become schemas
 * one by one, when somebody looks at them, so that loading the program does not pay for the hundreds of types
 * nobody uses.
 *
 * A definition is a row of fields, `name!:type?default@patch`: `!` marks a required field, `?` what a key of a list
 * is when it is absent, `@` what strategic merge patch does. A type is a scalar or a definition (`.Container` is one
 * of the same group and version), followed by `[]` for an atomic list, `[=]` for a set, `[name]` for a list keyed by
 * `name`, `{}` for a map, `{atomic}` for one owned as a whole, and `+` for a struct owned part by part although its
 * definition is atomic. The word `atomic` in front marks a struct that is owned as a whole, `any` alone a definition
 * that stands for any JSON value.
 */
import { assert } from '#/base/assert.ts'
import generated from './generated/definitions.json' with { type: 'json' }
import { parseGroupVersion } from './group-version.ts'
import { definitionName, groups } from './kinds/groups.ts'
import { presenceOf } from './protobuf/field-numbers.ts'
import type { GroupVersionKind } from './resource.ts'
import type {
  AnySchema,
  Field,
  ListSchema,
  MapSchema,
  PatchStrategy,
  ScalarSchema,
  Schema,
  StructSchema,
} from './schema.ts'

const notations: Readonly<Record<string, string>> = generated.definitions
const sharedKinds = new Map<string, readonly string[]>(Object.entries(generated.kinds))
const unions = new Map<string, Union>(Object.entries(generated.unions))

/** As in `x-kubernetes-unions`. */
export interface Union {
  readonly 'discriminator'?: string
  readonly 'fields-to-discriminateBy': Readonly<Record<string, string>>
}

/** Every definition but those of scalars, by short name (`core.v1.Pod`), in alphabetical order. */
export function definitionNames(): readonly string[] {
  return Object.keys(notations)
}

/** The schema of a definition by its short name. */
export function definition(name: string): StructSchema | AnySchema {
  const known = schemas.get(name)
  if (known) return known
  const notation = Object.hasOwn(notations, name) ? notations[name] : undefined
  assert(notation !== undefined, `there is no definition ${name}`)
  const schema: StructSchema | AnySchema =
    notation === 'any' ? { type: 'any', name: definitionName(name) } : new LazyStruct(name, notation)
  schemas.set(name, schema)
  return schema
}

/** The schema of a definition that is a struct, as every kind's is. */
export function structDefinition(name: string): StructSchema {
  const schema = definition(name)
  assert(schema.type === 'struct', `${name} is not a struct`)
  return schema
}

/** The kinds a definition describes; none for a type that is only part of others. */
export function kindsOf(name: string): readonly GroupVersionKind[] {
  const [owner = '', version = '', kind = ''] = name.split('.')
  const shared = sharedKinds.get(name)
  if (shared) {
    return shared.flatMap(apiVersion => {
      const home = parseGroupVersion(apiVersion)
      return home ? [{ ...home, kind }] : []
    })
  }
  const group = groups.find(each => each.package === owner)
  const schema = definition(name)
  if (!group || schema.type !== 'struct') return []
  const isKind = ['apiVersion', 'kind', 'metadata'].every(field => schema.fields.has(field))
  return isKind ? [{ group: group.name, version, kind }] : []
}

export function unionOf(name: string): Union | undefined {
  return unions.get(name)
}

/** Whether OpenAPI says what type a list is; of the items of a list of objects it does not. */
export function declaresListType(name: string, field: string): boolean {
  return !(field === 'items' && name.endsWith('List')) && `${name}.${field}` !== 'meta.v1.APIResource.verbs'
}

/**
 * The definition OpenAPI refers to for a schema of a built-in kind; undefined for what it writes in place.
 */
export function referenceOf(schema: Schema): string | undefined {
  if (schema.type === 'struct' || schema.type === 'any') return schema.name
  if (schema.type === 'quantity') return 'io.k8s.apimachinery.pkg.api.resource.Quantity'
  if (schema.type === 'int-or-string') return 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
  if (schema.type !== 'string') return undefined
  if (schema.format === 'date-time') return definitionName('meta.v1.Time')
  return schema.format === 'date-time-micro' ? definitionName('meta.v1.MicroTime') : undefined
}

/** A cache of values that never change. */
const schemas = new Map<string, StructSchema | AnySchema>()

/** Reads its fields when they are first asked for, which is also what lets a definition contain itself. */
class LazyStruct implements StructSchema {
  readonly type = 'struct'
  readonly name: string
  readonly atomic: boolean
  readonly preserveUnknownFields = false
  readonly #shortName: string
  readonly #notation: string
  #fields: ReadonlyMap<string, Field> | undefined

  constructor(shortName: string, notation: string) {
    this.name = definitionName(shortName)
    this.#shortName = shortName
    this.#notation = notation
    this.atomic = notation === 'atomic' || notation.startsWith('atomic ')
  }

  get fields(): ReadonlyMap<string, Field> {
    this.#fields ??= readFields(this.#notation, this.#shortName)
    return this.#fields
  }
}

function readFields(notation: string, shortName: string): ReadonlyMap<string, Field> {
  const owner = shortName.slice(0, shortName.lastIndexOf('.'))
  const fields = new Map<string, Field>()
  for (const word of notation.split(' ')) {
    const colon = word.indexOf(':')
    if (colon === -1) continue
    const required = word[colon - 1] === '!'
    const [typeAndDefault = '', strategy] = word.slice(colon + 1).split('@')
    const [type = '', fallback] = typeAndDefault.split('?')
    const patch = strategy === undefined ? undefined : readStrategy(strategy)
    const name = word.slice(0, required ? colon - 1 : colon)
    const schema = readType(type, owner)
    const presence = presenceOf(shortName, name) ?? 'pointer'
    // Go has no pointer for it, so it is there even when it is empty.
    const isThere = schema.type === 'struct' && presence !== 'pointer'
    const absentWhenEmpty = presence === 'value' && !required && canBeEmpty(schema)
    fields.set(name, {
      schema,
      required,
      ...(patch && { patch }),
      ...(fallback !== undefined && { default: fallback }),
      ...(isThere && { default: {} }),
      ...(absentWhenEmpty && { absentWhenEmpty }),
    })
  }
  return fields
}

/** Structs cannot be to Go, and times, quantities and what may be a number or a name are structs there. */
function canBeEmpty(schema: Schema): boolean {
  if (schema.type === 'string') return schema.format === undefined || schema.format === 'byte'
  return ['list', 'map', 'boolean', 'integer', 'number'].includes(schema.type)
}

function readStrategy(text: string): PatchStrategy {
  const open = text.indexOf('(')
  const words = (open === -1 ? text : text.slice(0, open)).split(',')
  return {
    merge: words.includes('merge'),
    replace: words.includes('replace'),
    retainKeys: words.includes('retainKeys'),
    ...(open !== -1 && { mergeKey: text.slice(open + 1, -1) }),
  }
}

const scalars: ReadonlyMap<string, ScalarSchema> = new Map<string, ScalarSchema>([
  ['string', { type: 'string' }],
  ['boolean', { type: 'boolean' }],
  ['int32', { type: 'integer', format: 'int32' }],
  ['int64', { type: 'integer', format: 'int64' }],
  ['double', { type: 'number', format: 'double' }],
  ['byte', { type: 'string', format: 'byte' }],
  ['time', { type: 'string', format: 'date-time' }],
  ['micro-time', { type: 'string', format: 'date-time-micro' }],
  ['int-or-string', { type: 'int-or-string' }],
  ['quantity', { type: 'quantity' }],
])

function readType(text: string, owner: string): Schema {
  if (text.endsWith(']')) return readList(text, owner)
  if (text.endsWith('}')) return readMap(text, owner)
  if (text.endsWith('+')) return granular(readType(text.slice(0, -1), owner))
  return scalars.get(text) ?? definition(text.startsWith('.') ? `${owner}${text}` : text)
}

function readList(text: string, owner: string): ListSchema {
  const open = text.lastIndexOf('[')
  const inside = text.slice(open + 1, -1)
  const items = readType(text.slice(0, open), owner)
  if (inside === '') return { type: 'list', items, listType: 'atomic', keys: [] }
  if (inside === '=') return { type: 'list', items, listType: 'set', keys: [] }
  return { type: 'list', items, listType: 'map', keys: inside.split(',') }
}

function readMap(text: string, owner: string): MapSchema {
  const open = text.lastIndexOf('{')
  const values = readType(text.slice(0, open), owner)
  return { type: 'map', values, atomic: text.slice(open) === '{atomic}' }
}

/** The same struct, owned part by part. */
function granular(schema: Schema): Schema {
  assert(schema.type === 'struct', 'only a struct is owned part by part')
  return {
    type: 'struct',
    name: schema.name,
    get fields() {
      return schema.fields
    },
    atomic: false,
    preserveUnknownFields: schema.preserveUnknownFields,
  }
}
