/** Validation of objects in fields with `x-kubernetes-embedded-resource`: their type and metadata. */
import { invalid, invalidEach, required, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps } from '../generated/apiextensions/v1.ts'
import { parseGroupVersion } from '../group-version.ts'
import { itemsOf, valuesOf } from './subschemas.ts'
import type { ObjectMeta } from '../metadata.ts'
import { checkDns1035Label, pathSegmentNames } from '../names.ts'
import { isObject, type JsonObject } from '../text/json-object.ts'
import type { JsonValue } from '../text/json-value.ts'
import { validateMetadata } from '../validate-metadata.ts'

type EmbeddedCheck = (value: JsonValue, path: string) => FieldError[]

/** Undefined if the schema has no embedded resources. */
export function compileEmbeddedCheck(
  schema: JSONSchemaProps,
): ((object: JsonObject) => FieldError[]) | undefined {
  const check = checkOf({ ...schema, 'x-kubernetes-embedded-resource': false })
  return check && (object => check(object, ''))
}

function checkOf(schema: JSONSchemaProps): EmbeddedCheck | undefined {
  const items = itemsOf(schema)
  const checkItem = items && checkOf(items)
  const values = valuesOf(schema)
  const checkValue = values && checkOf(values)
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const check = checkOf(property)
    return check ? [[name, check] as const] : []
  })
  const isResource = schema['x-kubernetes-embedded-resource'] === true
  if (!isResource && !checkItem && !checkValue && properties.length === 0) return undefined
  return (value, path) => {
    if (Array.isArray(value)) {
      return checkItem ? value.flatMap((item, index) => checkItem(item, `${path}[${index}]`)) : []
    }
    if (!isObject(value)) return []
    return [
      ...(isResource ? validateResource(value, path) : []),
      ...properties.flatMap(([name, check]) => {
        return Object.hasOwn(value, name)
          ? check(value[name] as JsonValue, path === '' ? name : `${path}.${name}`)
          : []
      }),
      ...(checkValue
        ? Object.entries(value).flatMap(([name, each]) => checkValue(each, `${path}[${name}]`))
        : []),
    ]
  }
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
