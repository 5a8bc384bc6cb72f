/**
 * Access to nested schemas. Where a field may contain either a schema or a boolean or list, decoding accepts
 * any value: `validateShape` checks it, and all other functions rely on that.
 */
import { decode } from '../decoding/decode.ts'
import { DecodeError } from '../decoding/decode-error.ts'
import { structDefinition } from '../definitions.ts'
import { forbiddenField, invalid, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import type { JsonValue } from '../text/json-value.ts'

/** A nested schema. */
export interface Subschema {
  /** `.properties[spec]`. */
  readonly suffix: string
  readonly schema: JSONSchemaProps
}

/**
 * Errors for nested schemas of the wrong type, and for patterns that would take long to parse; if there are any, no
 * other function may be called on the schema.
 */
export function validateShape(field: string, schema: JSONSchemaProps): FieldError[] {
  if (known.has(schema)) return []
  const misshapen = validateShapeWithin(field, schema)
  const errors = misshapen.length > 0 ? misshapen : validatePatternSizes(field, schema)
  if (errors.length === 0) known.add(schema)
  return errors
}

/**
 * Maximum number of characters in all different patterns of a schema. Kubernetes has no such limit; the largest known
 * schemas have a tenth of it.
 */
const patternCharactersMax = 100_000

function validatePatternSizes(field: string, schema: JSONSchemaProps): FieldError[] {
  const patterns = new Set<string>()
  someSchema(schema, ({ pattern }) => {
    if (pattern) patterns.add(pattern)
    return false
  })
  const characters = patterns.values().reduce((sum, pattern) => sum + pattern.length, 0)
  if (characters <= patternCharactersMax) return []
  const detail = `must not have patterns of more than ${patternCharactersMax} characters in total`
  return [forbiddenField(field, detail)]
}

/** Schemas without errors: several steps of a write depend on it. */
const known = new WeakSet<JSONSchemaProps>()

function validateShapeWithin(field: string, schema: JSONSchemaProps): FieldError[] {
  const errors = [
    ...validateLoose(`${field}.items`, schema.items, isSchemaOrList),
    ...validateLoose(`${field}.additionalProperties`, schema.additionalProperties, isSchemaOrBoolean),
    ...validateLoose(`${field}.additionalItems`, schema.additionalItems, isSchemaOrBoolean),
    ...Object.entries(schema.dependencies ?? {}).flatMap(([key, value]) => {
      return validateLoose(`${field}.dependencies[${key}]`, value, isSchemaOrList)
    }),
  ]
  if (errors.length > 0) return errors
  return subschemasOf(schema).flatMap(each => validateShapeWithin(field + each.suffix, each.schema))
}

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

function isSchemaOrBoolean(value: unknown): boolean {
  return typeof value === 'boolean' || isSchema(value)
}

function isSchemaOrList(value: unknown): boolean {
  return isSchema(value) || Array.isArray(value)
}

function validateLoose(field: string, value: unknown, isAllowed: (value: unknown) => boolean): FieldError[] {
  if (value === undefined || value === null) return []
  if (!isAllowed(value)) return [invalid(field, value, 'must be a schema')]
  const schemas: readonly unknown[] = Array.isArray(value) ? value : [value]
  return schemas.filter(isSchema).flatMap(each => validateTypes(field, each))
}

function validateTypes(field: string, schema: JSONSchemaProps): FieldError[] {
  try {
    decode(schema as JsonValue, structDefinition('apiextensions.v1.JSONSchemaProps'))
    return []
  } catch (error) {
    if (error instanceof DecodeError) return [invalid(field, schema, error.message)]
    throw error
  }
}
