/**
 * Validation of the schema of a custom resource. Defaults are not validated against the schema and CEL rules
 * are not compiled here: the API server does both in a hook, since this component has no CEL.
 */
import { forbiddenField, invalid, type FieldError } from '../../field-error.ts'
import type { JSONSchemaProps } from '../../generated/apiextensions/v1.ts'
import { hasUnsupportedKeyword, validateKeywords } from '../../custom-resources/schema-keywords.ts'
import { validateStructuralSchema } from '../../custom-resources/structural-schema.ts'
import { someSchema, validatePatternSizes } from '../../custom-resources/subschemas.ts'

export function validateSchema(field: string, schema: JSONSchemaProps, hasStatus: boolean): FieldError[] {
  const oversized = validatePatternSizes(field, schema)
  if (oversized.length > 0) return oversized
  return [
    ...(hasStatus ? validateRoot(field, schema) : []),
    ...(schema.nullable ? [forbiddenField(`${field}.nullable`, 'nullable cannot be true at the root')] : []),
    ...(someSchema(schema, hasUnsupportedKeyword) ? [] : validateStructuralSchema(field, schema)),
    ...validateKeywords(field, schema),
  ]
}

/**
 * Keywords allowed at the root if the status subresource is enabled, with their names in the error message.
 */
const rootKeywords: ReadonlyMap<string, string> = new Map([
  ['description', 'Description'],
  ['type', 'Type'],
  ['format', 'Format'],
  ['title', 'Title'],
  ['maximum', 'Maximum'],
  ['exclusiveMaximum', 'ExclusiveMaximum'],
  ['minimum', 'Minimum'],
  ['exclusiveMinimum', 'ExclusiveMinimum'],
  ['maxLength', 'MaxLength'],
  ['minLength', 'MinLength'],
  ['pattern', 'Pattern'],
  ['maxItems', 'MaxItems'],
  ['minItems', 'MinItems'],
  ['uniqueItems', 'UniqueItems'],
  ['multipleOf', 'MultipleOf'],
  ['required', 'Required'],
  ['items', 'Items'],
  ['properties', 'Properties'],
  ['externalDocs', 'ExternalDocs'],
  ['example', 'Example'],
  ['x-kubernetes-preserve-unknown-fields', 'XPreserveUnknownFields'],
  ['x-kubernetes-validations', 'XValidations'],
])

function validateRoot(field: string, schema: JSONSchemaProps): FieldError[] {
  if (schema.type && schema.type !== 'object') {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status ' +
      'subresource is enabled'
    return [invalid(`${field}.type`, schema.type, detail)]
  }
  const isSaid = (value: unknown) => value !== undefined && value !== false
  if (Object.entries(schema).every(([name, value]) => rootKeywords.has(name) || !isSaid(value))) return []
  const names = [...rootKeywords.values()].join(' ')
  const detail =
    `only [${names}] fields are allowed at the root of the schema if the status ` + `subresource is enabled`
  return [invalid(field, schema, detail)]
}
