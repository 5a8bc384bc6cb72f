/**
 * The schema of a custom resource as decoding, pruning, server-side apply and CEL use it, from the structural
 * schema in its CustomResourceDefinition. It is converted as far as it is used: a cluster has hundreds of large
 * schemas, of whose fields few have values.
 */
import { structDefinition } from '../definitions.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { itemsOf, valuesOf } from './subschemas.ts'
import type { AnySchema, Field, ListSchema, MapSchema, Schema, StructSchema } from '../schema.ts'

/** Without a schema all fields are kept. */
export function resourceSchemaOf(
  root: JSONSchemaProps | undefined,
  metadata: StructSchema = structDefinition('meta.v1.ObjectMeta'),
): StructSchema {
  return resourceStruct(root ?? { 'x-kubernetes-preserve-unknown-fields': true }, metadata)
}

/** The schema of a value within a custom resource; `metadata` is that of embedded resources. */
export function valueSchemaOf(schema: JSONSchemaProps, metadata: StructSchema): Schema {
  if (schema['x-kubernetes-embedded-resource']) return resourceStruct(schema, metadata)
  if (schema['x-kubernetes-int-or-string']) return { type: 'int-or-string' }
  switch (schema.type) {
    case 'object':
      return isMap(schema) ? new CustomMap(schema, metadata) : new CustomStruct(schema, metadata, new Map())
    case 'array':
      return new CustomList(schema, metadata)
    case 'string':
    case 'boolean':
    case 'integer':
    case 'number':
      return { type: schema.type, ...(schema.format && { format: schema.format }) }
    case undefined:
    default:
      return any
  }
}

const any: AnySchema = { type: 'any' }
const text: Schema = { type: 'string' }

function isMap({ additionalProperties, properties }: JSONSchemaProps): boolean {
  return additionalProperties !== undefined && additionalProperties !== false && properties === undefined
}

/** The type and metadata of a resource are known, whatever its schema says of them. */
function resourceStruct(schema: JSONSchemaProps, metadata: StructSchema): StructSchema {
  const field: Field = { schema: text, required: false }
  const known = new Map([
    ['apiVersion', field],
    ['kind', field],
    ['metadata', { schema: metadata, required: false }],
  ])
  return new CustomStruct(schema, metadata, known)
}

class CustomStruct implements StructSchema {
  readonly type = 'struct'
  readonly name = ''
  readonly atomic: boolean
  readonly preserveUnknownFields: boolean
  readonly #schema: JSONSchemaProps
  readonly #metadata: StructSchema
  readonly #known: ReadonlyMap<string, Field>
  #fields: ReadonlyMap<string, Field> | undefined

  constructor(schema: JSONSchemaProps, metadata: StructSchema, known: ReadonlyMap<string, Field>) {
    this.#schema = schema
    this.#metadata = metadata
    this.#known = known
    this.atomic = isAtomic(schema)
    this.preserveUnknownFields = schema['x-kubernetes-preserve-unknown-fields'] === true
  }

  get fields(): ReadonlyMap<string, Field> {
    return (this.#fields ??= this.#convertFields())
  }

  #convertFields(): ReadonlyMap<string, Field> {
    const required = new Set(this.#schema.required)
    const fields = new Map(this.#known)
    for (const [name, property] of Object.entries(this.#schema.properties ?? {})) {
      if (this.#known.has(name)) continue
      fields.set(name, {
        schema: valueSchemaOf(property, this.#metadata),
        required: required.has(name),
        ...(property.default !== undefined && { default: property.default }),
        ...(property.nullable && { nullable: true }),
      })
    }
    return fields
  }
}

class CustomMap implements MapSchema {
  readonly type = 'map'
  readonly atomic: boolean
  readonly #schema: JSONSchemaProps
  readonly #metadata: StructSchema
  #values: Schema | undefined

  constructor(schema: JSONSchemaProps, metadata: StructSchema) {
    this.#schema = schema
    this.#metadata = metadata
    this.atomic = isAtomic(schema)
  }

  get values(): Schema {
    const values = valuesOf(this.#schema)
    return (this.#values ??= values ? valueSchemaOf(values, this.#metadata) : any)
  }
}

class CustomList implements ListSchema {
  readonly type = 'list'
  readonly listType: ListSchema['listType']
  readonly keys: readonly string[]
  readonly #schema: JSONSchemaProps
  readonly #metadata: StructSchema
  #items: Schema | undefined

  constructor(schema: JSONSchemaProps, metadata: StructSchema) {
    this.#schema = schema
    this.#metadata = metadata
    this.listType = listTypeOf(schema)
    this.keys = schema['x-kubernetes-list-map-keys'] ?? []
  }

  get items(): Schema {
    const items = itemsOf(this.#schema)
    return (this.#items ??= items ? valueSchemaOf(items, this.#metadata) : any)
  }
}

/** `x-kubernetes-list-type`, which is validated when the definition is written. */
function listTypeOf(schema: JSONSchemaProps): ListSchema['listType'] {
  const type = schema['x-kubernetes-list-type']
  return type === 'set' || type === 'map' ? type : 'atomic'
}

function isAtomic(schema: JSONSchemaProps): boolean {
  return schema['x-kubernetes-map-type'] === 'atomic'
}
