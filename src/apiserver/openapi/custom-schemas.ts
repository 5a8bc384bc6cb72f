/**
 * Definitions of a custom resource and its list: the original schema if available, otherwise one derived from
 * the structural schema.
 */
import type { Documentation } from '#/api/documentation.ts'
import type { Resource } from '#/api/resource.ts'
import type { Field, Schema, StructSchema } from '#/api/schema.ts'
import { definitionOf, listDefinitionOf, metaDefinition } from './definition-names.ts'
import { describedReference, reference, type Dialect, type JsonSchema } from './json-schema.ts'
import { toVersion2 } from './to-version-2.ts'

export interface CustomOptions {
  readonly dialect: Dialect
  readonly documentation: Documentation
  readonly authoredSchema: AuthoredSchema
}

/** The `openAPIV3Schema` of a custom resource as written in its CRD; undefined if not available. */
export type AuthoredSchema = (resource: Resource) => JsonSchema | undefined

/** By definition name. */
export function customSchemas(resource: Resource, options: CustomOptions): ReadonlyMap<string, JsonSchema> {
  const { group, version, kind, listKind } = resource
  const object = describeObject(resource, options)
  const extensions = (kind: string): JsonSchema => ({
    'x-kubernetes-group-version-kind': [{ group, version, kind }],
    ...selectableFieldsOf(resource),
  })
  const schemas = new Map<string, JsonSchema>([[definitionOf(resource), { ...object, ...extensions(kind) }]])
  if (listKind === undefined) return schemas
  const list = describeListOf(resource, options)
  return schemas.set(listDefinitionOf(resource), { ...list, ...extensions(listKind) })
}

function selectableFieldsOf({ rules }: Resource): JsonSchema {
  const paths = Object.keys(rules?.selectableFields ?? {})
  return paths.length === 0
    ? {}
    : { 'x-kubernetes-selectable-fields': paths.map(fieldPath => ({ fieldPath })) }
}

function describeObject(resource: Resource, options: CustomOptions): JsonSchema {
  const { dialect, documentation, authoredSchema } = options
  const authored = authoredSchema(resource) ?? describeStruct(resource.schema)
  const { properties, ...rest } = dialect.version === 2 ? withoutPreserving(toVersion2(authored)) : authored
  // In version 2, a schema without properties allows anything; adding the common fields would restrict it.
  const allowsAny = authored['x-kubernetes-preserve-unknown-fields'] === true
  if (properties === undefined && dialect.version === 2 && allowsAny) return rest
  return {
    ...rest,
    properties: {
      ...(properties as JsonSchema | undefined),
      ...typeFields(documentation),
      metadata: describedReference(dialect, metaDefinition('ObjectMeta'), {
        description: metadataDescription,
      }),
    },
  }
}

/** The generated documentation has no text for the metadata of objects. */
const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md'
const metadataDescription = `Standard object's metadata. More info: ${conventions}#metadata`

/** In version 2, a root without properties already stands for any object. */
function withoutPreserving(schema: JsonSchema): JsonSchema {
  const { 'x-kubernetes-preserve-unknown-fields': _, ...rest } = schema
  return rest
}

function describeListOf(resource: Resource, { dialect, documentation }: CustomOptions): JsonSchema {
  const { kind, plural, listKind } = resource
  return {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeFields(documentation),
      items: {
        description: `List of ${plural}. More info: ${conventions}`,
        type: 'array',
        items: reference(dialect, definitionOf(resource)),
      },
      metadata: describedReference(dialect, metaDefinition('ListMeta'), {
        description: `Standard list metadata. More info: ${conventions}#types-kinds`,
      }),
    },
  }
}

/** The same descriptions for all kinds. */
function typeFields(documentation: Documentation): JsonSchema {
  return Object.fromEntries(
    ['apiVersion', 'kind'].map(field => [
      field,
      { description: documentation.describe('core.v1.Pod', field), type: 'string' },
    ]),
  )
}

function describeStruct({ fields, preserveUnknownFields, atomic }: StructSchema): JsonSchema {
  const required = [...fields].filter(([, field]) => field.required).map(([name]) => name)
  return {
    type: 'object',
    ...(fields.size > 0 && {
      properties: Object.fromEntries([...fields].map(([name, field]) => [name, describeField(field)])),
    }),
    ...(required.length > 0 && { required }),
    ...(preserveUnknownFields && { 'x-kubernetes-preserve-unknown-fields': true }),
    ...(atomic && { 'x-kubernetes-map-type': 'atomic' }),
  }
}

function describeField(field: Field): JsonSchema {
  return {
    ...describeType(field.schema),
    ...(field.nullable === true && { nullable: true }),
    ...('default' in field && { default: field.default }),
  }
}

function describeType(schema: Schema): JsonSchema {
  switch (schema.type) {
    case 'struct':
      return describeStruct(schema)
    case 'any':
      return { 'x-kubernetes-preserve-unknown-fields': true }
    case 'list':
      return {
        'type': 'array',
        'items': describeType(schema.items),
        'x-kubernetes-list-type': schema.listType,
        ...(schema.keys.length > 0 && { 'x-kubernetes-list-map-keys': schema.keys }),
      }
    case 'map':
      return {
        type: 'object',
        additionalProperties: describeType(schema.values),
        ...(schema.atomic && { 'x-kubernetes-map-type': 'atomic' }),
      }
    case 'int-or-string':
    case 'quantity':
      return { 'x-kubernetes-int-or-string': true }
    case 'string':
    case 'boolean':
    case 'integer':
    case 'number':
      return { type: schema.type, ...(schema.format !== undefined && { format: schema.format }) }
  }
}
