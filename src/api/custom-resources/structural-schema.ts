/**
 * Structural schemas: every field has a type, declared once and outside of `allOf`, `anyOf`, `oneOf` and
 * `not`, so that pruning and defaulting are well-defined.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { forbiddenField, formatFieldError, invalid, required, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { validateStructuralCompleteness, validateNestedValueValidation } from './nested-schema.ts'
import { itemsOf, propertyOf, valuesOf } from './subschemas.ts'

/** All violations of the structural schema rules, sorted by text. */
export function validateStructuralSchema(field: string, schema: JSONSchemaProps): FieldError[] {
  if (known.has(schema)) return []
  const errors = [
    ...validateStructural(field, schema, 'root'),
    ...validateStructuralCompleteness(field, schema),
  ]
  if (errors.length === 0) known.add(schema)
  const texts = new Map(errors.map(error => [error, formatFieldError(error)]))
  return errors.sort((a, b) => ((texts.get(a) ?? '') < (texts.get(b) ?? '') ? -1 : 1))
}

/** Schemas without errors: several steps of a write depend on it. */
const known = new WeakSet<JSONSchemaProps>()

/** Position of a schema. */
type Level = 'root' | 'item' | 'field'

function validateStructural(field: string, schema: JSONSchemaProps, level: Level): FieldError[] {
  const items = itemsOf(schema)
  const values = valuesOf(schema)
  const { type, properties = {}, additionalProperties } = schema
  const isMap = additionalProperties !== undefined
  return [
    ...(type === 'array' && !items ? [required(`${field}.items`, 'must be specified')] : []),
    ...(items ? validateStructural(`${field}.items`, items, 'item') : []),
    ...Object.entries(properties).flatMap(([name, property]) => {
      return validateStructural(`${field}.properties[${name}]`, property, 'field')
    }),
    ...(isMap && level === 'root'
      ? [forbiddenField(`${field}.additionalProperties`, 'must not be used at the root')]
      : []),
    ...(values ? validateStructural(`${field}.additionalProperties`, values, 'field') : []),
    ...validateExtensions(field, schema),
    ...validateNestedValueValidation(field, schema),
    ...validateType(field, schema, level),
    ...validateResource(field, schema, level),
  ]
}

function validateExtensions(field: string, schema: JSONSchemaProps): FieldError[] {
  if (!schema['x-kubernetes-int-or-string']) return []
  const extensions = ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const
  return extensions
    .filter(name => schema[name])
    .map(name => {
      return invalid(`${field}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true')
    })
}

const placeOfLevel: Readonly<Record<Level, string>> = {
  root: 'at the root',
  item: 'for specified array items',
  field: 'for specified object fields',
}

function validateType(field: string, schema: JSONSchemaProps, level: Level): FieldError[] {
  const { type = '' } = schema
  const typeField = `${field}.type`
  const errors: FieldError[] = []
  if (schema['x-kubernetes-embedded-resource'] && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true'
    errors.push(type === '' ? required(typeField, detail) : invalid(typeField, type, detail))
  } else if (type === '' && !isOpen(schema)) {
    errors.push(required(typeField, `must not be empty ${placeOfLevel[level]}`))
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(invalid(typeField, type, 'must be object at the root'))
  }
  return errors
}

/** True if values may have more than one type. */
function isOpen(schema: JSONSchemaProps): boolean {
  return Boolean(schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields'])
}

/** The root or an embedded resource has `apiVersion`, `kind` and `metadata`. */
function validateResource(field: string, schema: JSONSchemaProps, level: Level): FieldError[] {
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  if (level !== 'root' && !isEmbedded) return []
  const errors = ['kind', 'apiVersion'].flatMap(name => {
    const property = propertyOf(schema, name)
    if (!property || property.type === 'string') return []
    return [invalid(`${field}.properties[${name}].type`, property.type ?? '', 'must be string')]
  })
  const metadata = propertyOf(schema, 'metadata')
  if (metadata) errors.push(...validateMetadata(`${field}.properties[metadata]`, metadata, level))
  if (!isEmbedded) return errors
  if (schema.additionalProperties !== undefined) {
    const detail = 'must not be used if x-kubernetes-embedded-resource is set'
    errors.push(forbiddenField(`${field}.additionalProperties`, detail))
  }
  const isEmpty = Object.keys(schema.properties ?? {}).length === 0
  if (!isEmpty || schema['x-kubernetes-preserve-unknown-fields']) return errors
  const detail =
    'must not be empty if x-kubernetes-embedded-resource is true without ' +
    'x-kubernetes-preserve-unknown-fields'
  return [...errors, required(`${field}.properties`, detail)]
}

/** Metadata is implicitly specified; only restrictions on names are allowed. */
function validateMetadata(field: string, metadata: JSONSchemaProps, level: Level): FieldError[] {
  const { type = '', properties = {}, default: _, ...rest } = metadata
  const errors = type === 'object' ? [] : [invalid(`${field}.type`, type, 'must be object')]
  const isPlain = Object.keys(properties).every(name => name === 'name' || name === 'generateName')
  if (level !== 'root' || (isPlain && Object.keys(rest).length === 0)) return errors
  const detail =
    'must not specify anything other than name and generateName, but metadata is ' + 'implicitly specified'
  return [...errors, forbiddenField(field, detail)]
}
