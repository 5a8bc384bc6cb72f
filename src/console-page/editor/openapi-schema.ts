import type { YamlPath } from './yaml-places.ts'

/** The parts of an OpenAPI v3 schema that completion needs. */
export interface OpenApiSchema {
  readonly '$ref'?: string
  readonly 'allOf'?: readonly OpenApiSchema[]
  readonly 'oneOf'?: readonly OpenApiSchema[]
  readonly 'type'?: string
  readonly 'format'?: string
  readonly 'description'?: string
  readonly 'enum'?: readonly unknown[]
  readonly 'properties'?: Readonly<Record<string, OpenApiSchema>>
  readonly 'items'?: OpenApiSchema
  readonly 'additionalProperties'?: OpenApiSchema | boolean
  readonly 'required'?: readonly string[]
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[]
}

interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiSchema>> }
}

const refPrefix = '#/components/schemas/'
const refsMax = 20

/** The schemas of a group and version, of which each kind has one. */
export class OpenApiSchemas {
  readonly #schemas: Readonly<Record<string, OpenApiSchema>>

  constructor({ components }: OpenApiDocument) {
    this.#schemas = components?.schemas ?? {}
  }

  schemaOf({ group, version, kind }: GroupVersionKind): OpenApiSchema | undefined {
    return Object.values(this.#schemas).find(schema =>
      schema['x-kubernetes-group-version-kind']?.some(each => {
        return each.group === group && each.version === version && each.kind === kind
      }),
    )
  }

  /** The schema of a field, with references resolved; undefined if the field is unknown. */
  schemaAt(root: OpenApiSchema, path: YamlPath): OpenApiSchema | undefined {
    let schema: OpenApiSchema | undefined = this.resolve(root)
    for (const name of path) {
      if (schema === undefined) return undefined
      schema = this.#member(schema, name)
      schema &&= this.resolve(schema)
    }
    return schema
  }

  /** Follows references. The description beside a reference is that of the field. */
  resolve(schema: OpenApiSchema): OpenApiSchema {
    let resolved = schema
    for (let count = 0; count < refsMax; count++) {
      const reference = resolved.$ref ?? resolved.allOf?.[0]?.$ref
      const target = reference === undefined ? undefined : this.#schemas[reference.slice(refPrefix.length)]
      if (target === undefined) return resolved
      const description = resolved.description ?? target.description
      resolved = { ...target, ...(description && { description }) }
    }
    return resolved
  }

  #member(schema: OpenApiSchema, name: string | number): OpenApiSchema | undefined {
    if (typeof name === 'number') return schema.items
    const { properties = {}, additionalProperties } = schema
    if (Object.hasOwn(properties, name)) return properties[name]
    return typeof additionalProperties === 'object' ? additionalProperties : undefined
  }
}

export interface FieldCompletion {
  readonly label: string
  /** `string`, `[]Container`. */
  readonly type: string
  readonly description: string
  readonly isRequired: boolean
  /** What follows the colon: a new line for maps and lists. */
  readonly isNested: boolean
}

/** The fields that a map may have, without those that it has. */
export function fieldCompletions(
  schemas: OpenApiSchemas,
  schema: OpenApiSchema,
  present: ReadonlySet<string>,
): FieldCompletion[] {
  const { properties = {}, required = [] } = schema
  return Object.entries(properties)
    .filter(([name]) => !present.has(name))
    .map(([label, property]) => {
      const resolved = schemas.resolve(property)
      return {
        label,
        type: typeOf(property, resolved),
        description: resolved.description ?? '',
        isRequired: required.includes(label),
        isNested:
          resolved.type === 'object' || resolved.type === 'array' || resolved.properties !== undefined,
      }
    })
}

/** The values that a field may have, as far as the schema says. */
export function valueCompletions({ enum: values, type }: OpenApiSchema): string[] {
  if (values) return values.filter(value => value !== '').map(String)
  return type === 'boolean' ? ['true', 'false'] : []
}

/** As in `kubectl explain`. */
export function typeOf(property: OpenApiSchema, resolved: OpenApiSchema): string {
  if (resolved.type === 'array')
    return `[]${resolved.items ? typeOf(resolved.items, resolved.items) : 'object'}`
  const reference = property.$ref ?? property.allOf?.[0]?.$ref
  if (reference !== undefined) return reference.slice(reference.lastIndexOf('.') + 1)
  if (typeof resolved.additionalProperties === 'object') {
    return `map[string]${typeOf(resolved.additionalProperties, resolved.additionalProperties)}`
  }
  return resolved.type ?? (resolved.oneOf ? 'integer or string' : 'object')
}
