/**
 * The schema of a custom resource as decoding, pruning and server-side apply use it, from the structural
 * schema in its CustomResourceDefinition.
 */
import { structDefinition } from '../definitions.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { itemsOf, valuesOf } from './subschemas.ts'
import type { AnySchema, Field, ListSchema, Schema, StructSchema } from '../schema.ts'

/** Without a schema all fields are kept. */
export function resourceSchemaOf(root: JSONSchemaProps | undefined): StructSchema {
  return root === undefined
    ? resourceStruct({ 'x-kubernetes-preserve-unknown-fields': true })
    : resourceStruct(root)
}

const any: AnySchema = { type: 'any' }
const text: Schema = { type: 'string' }

function schemaOf(schema: JSONSchemaProps): Schema {
  if (schema['x-kubernetes-embedded-resource']) return resourceStruct(schema)
  if (schema['x-kubernetes-int-or-string']) return { type: 'int-or-string' }
  switch (schema.type) {
    case 'object':
      return objectSchema(schema)
    case 'array':
      return listSchema(schema)
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

function objectSchema(schema: JSONSchemaProps): Schema {
  const { additionalProperties, properties } = schema
  const isMap = additionalProperties !== undefined && additionalProperties !== false
  if (!isMap || properties !== undefined) return structSchema(schema, new Map())
  const values = valuesOf(schema)
  return { type: 'map', values: values ? schemaOf(values) : any, atomic: isAtomic(schema) }
}

/** The type and metadata of a resource are known, whatever its schema says of them. */
function resourceStruct(schema: JSONSchemaProps): StructSchema {
  const metadata: Field = { schema: structDefinition('meta.v1.ObjectMeta'), required: false }
  const field: Field = { schema: text, required: false }
  return structSchema(
    schema,
    new Map([
      ['apiVersion', field],
      ['kind', field],
      ['metadata', metadata],
    ]),
  )
}

function structSchema(schema: JSONSchemaProps, known: ReadonlyMap<string, Field>): StructSchema {
  const required = new Set(schema.required)
  const fields = new Map(known)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (known.has(name)) continue
    fields.set(name, {
      schema: schemaOf(property),
      required: required.has(name),
      ...(property.default !== undefined && { default: property.default }),
      ...(property.nullable && { nullable: true }),
    })
  }
  return {
    type: 'struct',
    name: '',
    fields,
    atomic: isAtomic(schema),
    preserveUnknownFields: schema['x-kubernetes-preserve-unknown-fields'] === true,
  }
}

function listSchema(schema: JSONSchemaProps): ListSchema {
  const items = itemsOf(schema)
  return {
    type: 'list',
    items: items ? schemaOf(items) : any,
    listType: listTypeOf(schema),
    keys: schema['x-kubernetes-list-map-keys'] ?? [],
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
