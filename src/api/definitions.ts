/**
 * The definitions of the built-in API as schemas. They are generated in a compact notation and parsed into
 * schemas on first use, so that startup does not pay for hundreds of unused types.
 *
 * A definition is a row of fields, `name!:type?default@patch`: `!` marks a required field, `?` a default, `@`
 * the strategic merge patch strategy. A type is a scalar, an enumeration (`string(core.RestartPolicy)`) or a
 * definition (`.Container` is in the same group and version), followed by `[]` for an atomic list, `[=]` for
 * a set, `[name]` for a list keyed by `name`, `{}` for a map, `{atomic}` for an atomic map, and `+` for a
 * granular use of a struct whose definition is atomic. A leading `atomic` marks an atomic struct; `any` alone
 * is a definition for any JSON value.
 */
import { assert } from '#/base/assert.ts'
import generated from './generated/definitions.json' with { type: 'json' }
import { parseGroupVersion } from './group-version.ts'
import { definitionName, groups } from './kinds/groups.ts'
import { numberedField, type NumberedField } from './protobuf/field-numbers.ts'
import type { GroupVersionKind } from './resource.ts'
import type {
  AnySchema,
  Field,
  ListSchema,
  MapSchema,
  PatchStrategy,
  ScalarSchema,
  Schema,
  SchemaUnion,
  StructSchema,
} from './schema.ts'
import type { JsonValue } from './text/json-value.ts'
import { scalarZeros } from './zero-fields.ts'

const notations: Readonly<Record<string, string>> = generated.definitions
const sharedKinds = new Map<string, readonly string[]>(Object.entries(generated.kinds))
const enums = new Map<string, readonly string[]>(Object.entries(generated.enums))
const extensions = new Map<string, Readonly<Record<string, string>>>(Object.entries(generated.extensions))
const unions = new Map<string, Union>(Object.entries(generated.unions))

/** The content of `x-kubernetes-unions`. */
export interface Union {
  readonly 'discriminator'?: string
  readonly 'fields-to-discriminateBy': Readonly<Record<string, string>>
}

/** All definitions except scalars, by short name (`core.v1.Pod`), sorted. */
export function definitionNames(): readonly string[] {
  return Object.keys(notations)
}

/** Returns the schema of a definition by its short name. */
export function definition(name: string): StructSchema | AnySchema {
  const known = schemas.get(name)
  if (known) return known
  const notation = Object.hasOwn(notations, name) ? notations[name] : undefined
  assert(notation !== undefined, `unknown definition ${name}`)
  const schema: StructSchema | AnySchema =
    notation === 'any' ? anyDefinition(name) : new LazyStruct(name, notation)
  schemas.set(name, schema)
  return schema
}

function anyDefinition(name: string): AnySchema {
  const other = unionTypes.get(name)
  const union = other && { struct: structDefinition('apiextensions.v1.JSONSchemaProps'), other }
  return { type: 'any', name: definitionName(name), ...(union && { union }) }
}

const unionTypes: ReadonlyMap<string, SchemaUnion['other']> = new Map([
  ['apiextensions.v1.JSONSchemaPropsOrArray', 'list of structs'],
  ['apiextensions.v1.JSONSchemaPropsOrBool', 'boolean'],
  ['apiextensions.v1.JSONSchemaPropsOrStringArray', 'list of strings'],
])

/** Returns the schema of a definition that is a struct, as that of every kind. */
export function structDefinition(name: string): StructSchema {
  const schema = definition(name)
  assert(schema.type === 'struct', `${name} is not a struct`)
  return schema
}

/** Returns the schema of a built-in kind; undefined for other kinds. */
export function kindDefinition(apiVersion: string, kind: string): StructSchema | undefined {
  return kindSchemas.getOrInsertComputed(`${apiVersion} ${kind}`, () => {
    const home = parseGroupVersion(apiVersion)
    const group = home && groups.find(each => each.name === home.group)
    const name = `${group?.package}.${home?.version}.${kind}`
    return Object.hasOwn(notations, name) ? structDefinition(name) : undefined
  })
}

/** The kinds that a definition describes; empty for a type that is only a part of other types. */
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

/** Extensions that OpenAPI declares for a field, although they have no effect. */
export function extensionsOf(name: string, field: string): Readonly<Record<string, string>> {
  return extensions.get(`${name}.${field}`) ?? {}
}

/** The values of an enumeration by name (`core.RestartPolicy`), sorted. */
export function enumValues(name: string): readonly string[] {
  const values = enums.get(name)
  assert(values !== undefined, `unknown enumeration ${name}`)
  return values
}

/** True if OpenAPI declares a list type for the field; it does not for the `items` of list kinds. */
export function declaresListType(name: string, field: string): boolean {
  return !(field === 'items' && name.endsWith('List')) && `${name}.${field}` !== 'meta.v1.APIResource.verbs'
}

/**
 * The OpenAPI definition to reference for a schema of a built-in kind; undefined if the schema is written
 * inline.
 */
export function referenceOf(schema: Schema): string | undefined {
  if (schema.type === 'struct' || schema.type === 'any') return schema.name
  if (schema.type === 'quantity') return 'io.k8s.apimachinery.pkg.api.resource.Quantity'
  if (schema.type === 'int-or-string') return 'io.k8s.apimachinery.pkg.util.intstr.IntOrString'
  if (schema.type !== 'string') return undefined
  if (schema.format === 'date-time') return definitionName('meta.v1.Time')
  return schema.format === 'date-time-micro' ? definitionName('meta.v1.MicroTime') : undefined
}

/**
 * The default of a field in OpenAPI: that of the field itself, or the zero value of a scalar that is always
 * present.
 */
export function declaredDefault(shortName: string, name: string, field: Field): unknown {
  if (field.default !== undefined) return field.default
  const facts = numberedField(shortName, name)
  // Only types without pointers have no message.
  const presence = facts?.presence ?? 'value'
  const isPresent = presence === 'shown' || (presence === 'value' && field.required && !facts?.omitEmpty)
  return isPresent && field.schema.type !== 'struct' ? elementDefault(field.schema) : undefined
}

/** The default of the elements of a list or map in OpenAPI. */
export function elementDefault(schema: Schema): unknown {
  if (schema.type === 'struct') return {}
  // In Go, bytes are a list.
  const isZero =
    canBeEmpty(schema) && schema.type in scalarZeros && !('format' in schema && schema.format === 'byte')
  return isZero ? scalarZeros[schema.type as ScalarSchema['type']] : undefined
}

/** Bounded by the kinds of stored objects. */
const kindSchemas = new Map<string, StructSchema | undefined>()

/** Cache of parsed definitions, which are immutable. */
const schemas = new Map<string, StructSchema | AnySchema>()

/** Parses its fields on first access, which also makes recursive definitions possible. */
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
    const facts = numberedField(shortName, name)
    const presence = facts?.presence ?? 'pointer'
    // In Go it is not a pointer, so it is present even if empty.
    const isThere = schema.type === 'struct' && presence !== 'pointer'
    const omitEmpty = presence === 'value' && (!required || facts?.omitEmpty === true) && canBeEmpty(schema)
    const absent = absentValue(schema, required, facts)
    fields.set(name, {
      schema,
      required,
      ...(patch && { patch }),
      ...(fallback !== undefined && { default: readDefault(fallback, schema) }),
      ...(isThere && { default: {} }),
      ...(omitEmpty && { omitEmpty }),
      ...(absent && { absent }),
    })
  }
  return fields
}

/** What JSON includes for an absent field. */
function absentValue(
  schema: Schema,
  required: boolean,
  facts: NumberedField | undefined,
): Field['absent'] | undefined {
  if (facts?.omitEmpty) return undefined
  const isPointer = facts?.presence === 'pointer'
  const isGoStruct = facts !== undefined && !isPointer && !canBeEmpty(schema)
  if (!required && !facts?.isEncoded && !isGoStruct) return undefined
  const isNil =
    isPointer || ['list', 'map', 'any'].includes(schema.type) || (schema.type === 'string' && schema.format)
  return isNil ? 'null' : 'zero'
}

/** In Go, `omitempty` does not omit structs; times, quantities and int-or-string are structs. */
function canBeEmpty(schema: Schema): boolean {
  if (schema.type === 'string') return schema.format === undefined || schema.format === 'byte'
  return ['list', 'map', 'boolean', 'integer', 'number'].includes(schema.type)
}

function readDefault(text: string, schema: Schema): JsonValue {
  if (schema.type === 'integer') return Number(text)
  return schema.type === 'boolean' ? text === 'true' : text
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
  if (text.endsWith(')')) return readEnum(text)
  if (text.endsWith('+')) return granular(readType(text.slice(0, -1), owner))
  return scalars.get(text) ?? definition(text.startsWith('.') ? `${owner}${text}` : text)
}

function readEnum(text: string): ScalarSchema {
  return enumSchemas.getOrInsertComputed(text, () => ({
    type: 'string',
    enum: enumValues(text.slice(text.indexOf('(') + 1, -1)),
  }))
}

/** By notation. */
const enumSchemas = new Map<string, ScalarSchema>()

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

/** The same struct with granular ownership. */
function granular(schema: Schema): Schema {
  assert(schema.type === 'struct', 'only a struct can be granular')
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
