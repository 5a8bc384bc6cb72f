/** Access to nested schemas. */
import { forbiddenField, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'

/** A nested schema. */
export interface Subschema {
  /** `.properties[spec]`. */
  readonly suffix: string
  readonly schema: JSONSchemaProps
}

/**
 * Maximum number of characters in all different patterns of a schema. Kubernetes has no such limit; the largest known
 * schemas have a tenth of it.
 */
const patternCharactersMax = 100_000

/** If there are errors, the schema must not be compiled: its patterns would take long to parse. */
export function validatePatternSizes(field: string, schema: JSONSchemaProps): FieldError[] {
  if (known.has(schema)) return []
  const patterns = new Set<string>()
  someSchema(schema, ({ pattern }) => {
    if (pattern) patterns.add(pattern)
    return false
  })
  const characters = patterns.values().reduce((sum, pattern) => sum + pattern.length, 0)
  if (characters <= patternCharactersMax) {
    known.add(schema)
    return []
  }
  const detail = `must not have patterns of more than ${patternCharactersMax} characters in total`
  return [forbiddenField(field, detail)]
}

/** Schemas without errors: several steps of a write depend on it. */
const known = new WeakSet<JSONSchemaProps>()

/** All directly nested schemas. */
export function subschemasOf(schema: JSONSchemaProps): readonly Subschema[] {
  const found: Subschema[] = []
  const add = (suffix: string, value: unknown) => {
    if (isSchema(value)) found.push({ suffix, schema: value })
  }
  add('.additionalProperties', schema.additionalProperties)
  add('.additionalItems', schema.additionalItems)
  for (const name of ['properties', 'patternProperties', 'definitions', 'dependencies'] as const) {
    for (const [key, value] of Object.entries(schema[name] ?? {})) add(`.${name}[${key}]`, value)
  }
  add('.not', schema.not)
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const) {
    for (const [index, value] of (schema[name] ?? []).entries()) add(`.${name}[${index}]`, value)
  }
  if (Array.isArray(schema.items)) {
    for (const [index, value] of schema.items.entries()) add(`.items[${index}]`, value)
  }
  add('.items', schema.items)
  return found
}

/** True if the test holds for the schema or any nested schema. */
export function someSchema(schema: JSONSchemaProps, test: (schema: JSONSchemaProps) => boolean): boolean {
  return test(schema) || subschemasOf(schema).some(each => someSchema(each.schema, test))
}

/** The schema of list items, if `items` is a single schema; a list of schemas is not supported. */
export function itemsOf({ items }: JSONSchemaProps): JSONSchemaProps | undefined {
  return isSchema(items) ? items : undefined
}

/** The schema of map values. */
export function valuesOf({ additionalProperties }: JSONSchemaProps): JSONSchemaProps | undefined {
  return isSchema(additionalProperties) ? additionalProperties : undefined
}

export function propertyOf({ properties }: JSONSchemaProps, name: string): JSONSchemaProps | undefined {
  return properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
}

function isSchema(value: unknown): value is JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
