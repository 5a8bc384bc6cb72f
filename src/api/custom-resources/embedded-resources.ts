/** Validation of objects in fields with `x-kubernetes-embedded-resource`: their type and metadata. */
import { invalid, invalidEach, required, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { parseGroupVersion } from '../group-version.ts'
import type { ObjectMeta } from '../metadata.ts'
import { checkDns1035Label, pathSegmentNames } from '../names.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { validateMetadata } from '../validate-metadata.ts'
import { compileWalk } from './walk-values.ts'

/** Undefined if the schema has no embedded resources. The root is not embedded. */
export function compileEmbeddedCheck(
  schema: JSONSchemaProps,
): ((object: JsonObject) => FieldError[]) | undefined {
  const check = compileWalk(schema, nested => {
    if (nested === schema || !nested['x-kubernetes-embedded-resource']) return undefined
    return (value, path) => (isObject(value) ? validateResource(value, path) : [])
  })
  return check && (object => check(object, ''))
}

function validateResource(object: JsonObject, path: string): FieldError[] {
  const { apiVersion, kind, metadata } = object
  return [
    ...validateApiVersion(apiVersion, `${path}.apiVersion`),
    ...validateKind(kind, `${path}.kind`),
    ...(isObject(metadata) ? validateEmbeddedMetadata(metadata, `${path}.metadata`) : []),
  ]
}

function validateApiVersion(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value !== 'string' || value === '') return [required(field, '')]
  if (parseGroupVersion(value) !== undefined) return []
  return [invalid(field, value, `unexpected GroupVersion string: ${value}`)]
}

function validateKind(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value !== 'string' || value === '') return [required(field, '')]
  const problems = checkDns1035Label(value.toLowerCase())
  return invalidEach(
    field,
    value,
    problems.map(problem => `may have mixed case, but should otherwise match: ${problem}`),
  )
}

/** Decoding has checked the types. The object may lack a name, since it is often a template. */
function validateEmbeddedMetadata(metadata: JsonObject, field: string): FieldError[] {
  const given = metadata as ObjectMeta
  const names = given.name || given.generateName ? given : { ...given, name: 'fakename' }
  return validateMetadata(names, { names: pathSegmentNames, namespaced: Boolean(given.namespace) }, field)
}
