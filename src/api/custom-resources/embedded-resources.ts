/** Validation of objects in fields with `x-kubernetes-embedded-resource`: their type and metadata. */
import { decode } from '../decoding/decode.ts'
import { DecodeError } from '../decoding/decode-error.ts'
import { structDefinition } from '../definitions.ts'
import { invalid, required, type FieldError } from '../field-error.ts'
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
    return nested !== schema && nested['x-kubernetes-embedded-resource']
      ? validateEmbeddedResource
      : undefined
  })
  return check && (object => check(object, ''))
}

export function validateEmbeddedResource(value: JsonValue, path: string): FieldError[] {
  if (!isObject(value)) return []
  const { apiVersion, kind, metadata } = value
  return [
    ...validateApiVersion(apiVersion, fieldIn(path, 'apiVersion')),
    ...validateKind(kind, fieldIn(path, 'kind')),
    ...(isObject(metadata) ? validateEmbeddedMetadata(metadata, fieldIn(path, 'metadata')) : []),
  ]
}

/** Validates the types of what `validateEmbeddedResource` relies on, which decoding has done for objects. */
export function validateEmbeddedTypes(value: JsonValue, path: string): FieldError[] {
  if (!isObject(value)) return []
  const errors = ['apiVersion', 'kind'].flatMap(name => {
    const text = value[name]
    const isText = text === undefined || typeof text === 'string'
    return isText ? [] : [invalid(fieldIn(path, name), text, 'must be a string')]
  })
  const { metadata } = value
  if (metadata === undefined) return errors
  try {
    decode(metadata, structDefinition('meta.v1.ObjectMeta'))
    return errors
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return [...errors, invalid(fieldIn(path, 'metadata'), metadata, error.message)]
  }
}

function fieldIn(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function validateApiVersion(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value !== 'string') return [required(field, '')]
  if (value === '') return [invalid(field, value, 'must not be empty')]
  if (parseGroupVersion(value) !== undefined) return []
  return [invalid(field, value, `unexpected GroupVersion string: ${value}`)]
}

function validateKind(value: JsonValue | undefined, field: string): FieldError[] {
  if (typeof value !== 'string') return [required(field, '')]
  if (value === '') return [invalid(field, value, 'must not be empty')]
  const problems = checkDns1035Label(value.toLowerCase())
  const detail = `may have mixed case, but should otherwise match: ${problems.join(',')}`
  return problems.length > 0 ? [invalid(field, value, detail)] : []
}

/** Decoding has checked the types. The object may lack a name, since it is often a template. */
function validateEmbeddedMetadata(metadata: JsonObject, field: string): FieldError[] {
  const given = metadata as ObjectMeta
  const names = given.name || given.generateName ? given : { ...given, name: 'fakename' }
  return validateMetadata(names, { names: pathSegmentNames, namespaced: Boolean(given.namespace) }, field)
}
