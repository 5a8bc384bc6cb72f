/** Validation of the keywords of a single schema: unsupported keywords and invalid combinations. */
import { forbiddenField, invalid, notSupported, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { validateXValidations } from './x-validations.ts'
import { validateListType, validateMapType } from './list-type-validation.ts'
import { subschemasOf, valuesOf } from './subschemas.ts'

/** Position of a schema in the object. */
interface Surroundings {
  readonly isRoot: boolean
  /** True inside `apiVersion`, `kind` or `metadata`. */
  readonly isMetadata: boolean
  /** The reason that defaults are forbidden, if they are. */
  readonly noDefaults?: string
}

export function validateKeywords(field: string, schema: JSONSchemaProps): FieldError[] {
  return validateAll(field, schema, { isRoot: true, isMetadata: false })
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']

function validateAll(field: string, schema: JSONSchemaProps, where: Surroundings): FieldError[] {
  return [
    ...validateUnsupported(field, schema, where),
    ...validateExclusive(field, schema),
    ...subschemasOf(schema).flatMap(({ suffix, schema: inner }) => {
      return validateAll(field + suffix, inner, inside(schema, suffix, where))
    }),
    ...(schema['x-kubernetes-preserve-unknown-fields'] === false
      ? [invalid(`${field}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined')]
      : []),
    ...validateMapType(field, schema),
    ...validateListType(field, schema),
    ...validateXValidations(field, schema),
  ]
}

/** True if the schema has a keyword that rules out checking whether it is structural. */
export function hasUnsupportedKeyword(schema: JSONSchemaProps): boolean {
  return (
    unsupported.some(name => isUsed(schema[name])) ||
    hasItemSchemas(schema) ||
    schema['x-kubernetes-preserve-unknown-fields'] === false
  )
}

const unsupported = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
  '$schema',
] as const

/** Keywords that are not supported even if they are empty. */
function isPresent(schema: JSONSchemaProps, name: (typeof unsupported)[number]): boolean {
  const isStrict = name === '$ref' || name === 'additionalItems' || name === 'dependencies'
  return isStrict && schema[name] !== undefined
}

function hasItemSchemas({ items }: JSONSchemaProps): boolean {
  return Array.isArray(items) && items.length > 0
}

function isUsed(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== undefined && value !== null && value !== ''
}

function validateUnsupported(field: string, schema: JSONSchemaProps, where: Surroundings): FieldError[] {
  const { type } = schema
  const errors: FieldError[] = []
  if (type && !types.includes(type)) errors.push(notSupported(`${field}.type`, type, types))
  if (schema.default !== undefined && where.noDefaults !== undefined) {
    errors.push(forbiddenField(`${field}.default`, `must not be set ${where.noDefaults}`))
  }
  for (const name of unsupported) {
    if (name !== '$schema' && (isPresent(schema, name) || isUsed(schema[name]))) {
      errors.push(forbiddenField(`${field}.${name}`, `${name} is not supported`))
    }
  }
  if (type === 'null') {
    errors.push(forbiddenField(`${field}.type`, 'type cannot be set to null, use nullable as an alternative'))
  }
  if (hasItemSchemas(schema)) {
    errors.push(forbiddenField(`${field}.items`, 'items must be a schema object and not an array'))
  }
  if (!where.isMetadata || !schema['x-kubernetes-embedded-resource']) return errors
  const detail = 'must not be used inside of resource meta'
  return [...errors, forbiddenField(`${field}.x-kubernetes-embedded-resource`, detail)]
}

function validateExclusive(field: string, schema: JSONSchemaProps): FieldError[] {
  const errors: FieldError[] = []
  if (schema.uniqueItems) {
    const detail = 'uniqueItems cannot be set to true since the runtime complexity becomes quadratic'
    errors.push(forbiddenField(`${field}.uniqueItems`, detail))
  }
  const { properties = {}, additionalProperties } = schema
  const isRestricted = additionalProperties === false || valuesOf(schema) !== undefined
  if (isRestricted && Object.keys(properties).length > 0) {
    const detail = 'additionalProperties and properties are mutual exclusive'
    errors.push(forbiddenField(`${field}.additionalProperties`, detail))
  }
  return errors
}

const metadataSuffix = /^\.properties\[(metadata|kind|apiVersion)\]$/

function inside(schema: JSONSchemaProps, suffix: string, where: Surroundings): Surroundings {
  const inner = { ...where, isRoot: false }
  if (suffix === '.additionalProperties' && where.isMetadata) {
    return { ...inner, noDefaults: 'inside additionalProperties applying to object metadata' }
  }
  const name = metadataSuffix.exec(suffix)?.[1]
  if (name === undefined || !(where.isRoot || schema['x-kubernetes-embedded-resource'])) return inner
  return { ...inner, isMetadata: true, ...(where.isRoot && { noDefaults: `in top-level ${name}` }) }
}
