/**
 * CEL types of API objects, derived from their schemas. Fields are resolved lazily, so recursive schemas work
 * and unused ones cost nothing. Fields without a schema, such as preserved unknown fields, are not visible to
 * expressions.
 */
import type { ListSchema, ScalarSchema, Schema, StructSchema } from '#/api/schema.ts'
import { mapIdentity, setIdentity, type ItemIdentity } from './item-identity.ts'
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  objectOf,
  stringType,
  timestampType,
  type ObjectType,
  type Type,
} from './type.ts'

/**
 * Undefined if values of the schema are not visible to expressions. Unnamed structs are named after `name`
 * and their path, so `name` must be unique for each kind.
 */
export function schemaType(schema: Schema, name: string): Type | undefined {
  if (schema.type === 'struct') return objectOf(structType(schema, name))
  if (schema.type === 'list') {
    const items = schemaType(schema.items, `${name}.@idx`)
    return items && listOf(items, identityOf(schema))
  }
  if (schema.type === 'map') {
    const values = schemaType(schema.values, `${name}.@elem`)
    return values && mapOf(stringType, values)
  }
  if (schema.type === 'any') return schema.name === undefined ? undefined : dynType
  return scalarType(schema)
}

/** Key properties that cannot be escaped are not visible; lists with such keys are compared by position. */
function identityOf({ listType, keys }: ListSchema): ItemIdentity | undefined {
  if (listType === 'set') return setIdentity
  const names = keys.map(escapeName)
  const isKeyed = listType === 'map' && names.every(name => name !== undefined)
  return isKeyed ? mapIdentity(names) : undefined
}

function structType(schema: StructSchema, name: string): ObjectType {
  return made.getOrInsertComputed(schema, () => new SchemaObject(schema, schema.name || name))
}

const made = new WeakMap<StructSchema, ObjectType>()

class SchemaObject implements ObjectType {
  readonly name: string
  readonly #schema: StructSchema
  readonly #types = new Map<string, Type | undefined>()
  #properties: ReadonlyMap<string, string> | undefined

  constructor(schema: StructSchema, name: string) {
    this.#schema = schema
    this.name = name
  }

  field(name: string): Type | undefined {
    if (this.#types.has(name)) return this.#types.get(name)
    const property = this.#findProperty(name)
    const field = property === undefined ? undefined : this.#schema.fields.get(property)
    if (field === undefined) return undefined
    const type = schemaType(field.schema, `${this.name}.${name}`)
    this.#types.set(name, type)
    return type
  }

  property(name: string): string {
    return this.#findProperty(name) ?? name
  }

  fieldOf(property: string): string | undefined {
    return escapeName(property)
  }

  #findProperty(name: string): string | undefined {
    this.#properties ??= new Map(
      Array.from(this.#schema.fields.keys(), property => [escapeName(property) ?? '', property]),
    )
    // A reserved word is also accepted as it is: as the name of a field it is not ambiguous.
    return this.#properties.get(name) ?? this.#properties.get(reserved.has(name) ? `__${name}__` : name)
  }
}

function scalarType({ type, format }: ScalarSchema): Type {
  switch (type) {
    case 'boolean':
      return boolType
    case 'integer':
      return intType
    case 'number':
      return doubleType
    case 'int-or-string':
    case 'quantity':
      return dynType
    case 'string':
      return (format === undefined ? undefined : formats.get(format)) ?? stringType
  }
}

const formats: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['byte', bytesType],
  ['date', timestampType],
  ['date-time', timestampType],
  ['date-time-micro', timestampType],
  ['duration', durationType],
])

const reserved: ReadonlySet<string> = new Set(
  (
    'true false null in as break const continue else for function if import let loop package namespace ' +
    'return var void while'
  ).split(' '),
)
const escapes: ReadonlyMap<string, string> = new Map([
  ['__', '__underscores__'],
  ['.', '__dot__'],
  ['-', '__dash__'],
  ['/', '__slash__'],
])

/**
 * Escapes JSON property names that are not identifiers or are reserved words: `metadata.__namespace__`,
 * `data.a__dot__b`. Undefined if the property cannot be escaped.
 */
export function escapeName(property: string): string | undefined {
  if (reserved.has(property)) return `__${property}__`
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined
  return property.replaceAll(/__|[./-]/g, part => escapes.get(part) ?? part)
}
