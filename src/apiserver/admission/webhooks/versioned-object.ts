/** Converts objects to and from the version that a webhook or policy requests. */
import { convertObject } from '#/api/conversion.ts'
import { decode } from '#/api/decode.ts'
import { DecodeError } from '#/api/decode-error.ts'
import { definitionNames, kindsOf, structDefinition } from '#/api/definitions.ts'
import { ApiError, internalError } from '#/api/errors.ts'
import { equalJson, type JsonValue } from '#/api/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { applyPatch } from '#/api/patch.ts'
import { apiVersionOf, isCustomKind, type GroupVersionKind } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import { rulesOf, withDefaults } from '../../registry/write.ts'
import type { Spoken } from '../matching/resource-rules.ts'

/** Objects of another kind than the resource's, such as Scale, are not converted. */
export function versioned(object: KubernetesObject, { resource, kind }: Spoken): KubernetesObject {
  return object.kind === resource.kind ? convertObject(object, kind) : object
}

export interface PatchedObject {
  /** In the storage version, or as patched if it is not of the resource's kind. */
  readonly object: KubernetesObject
  /** True if the patch changed the object; defaulting afterwards does not count. */
  readonly isChanged: boolean
  /** Unknown fields, which were dropped. */
  readonly unknownFields: readonly string[]
}

/**
 * Applies a webhook's JSON patch. The result is decoded and defaulted like a client's object. Throws ApiError
 * 500 if it is invalid.
 */
export function patched(object: KubernetesObject, patch: JsonValue, spoken: Spoken): PatchedObject {
  return reread(object, performed(versioned(object, spoken), patch), spoken)
}

/**
 * Decodes, defaults and converts back an object that a webhook or policy has changed. Throws ApiError 500 if
 * it is invalid.
 */
export function reread(object: KubernetesObject, made: JsonValue, spoken: Spoken): PatchedObject {
  const before = versioned(object, spoken)
  const { value: after, unknownFields } = decoded(made, spoken)
  const isChanged = !equalJson(before, after)
  if (!isChanged) return { object, isChanged, unknownFields }
  if (object.kind !== spoken.resource.kind) return { object: after, isChanged, unknownFields }
  const filled = withDefaults(rulesOf(spoken.resource), after)
  return { object: convertObject(filled, spoken.resource.storage), isChanged, unknownFields }
}

function performed(object: KubernetesObject, patch: JsonValue): JsonValue {
  try {
    return applyPatch('json', { current: object as unknown as JsonValue, patch })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw internalError(error.message, error)
  }
}

/** Undefined if the kind has no known schema. */
export function schemaOf({ resource, kind }: Spoken): StructSchema | undefined {
  return resource.kind === kind.kind && resource.group === kind.group ? resource.schema : definitionOf(kind)
}

interface ReadObject {
  readonly value: KubernetesObject
  readonly unknownFields: readonly string[]
}

function decoded(value: JsonValue, spoken: Spoken): ReadObject {
  const { resource, kind } = spoken
  const schema = schemaOf(spoken)
  const read = schema
    ? decodedAs(value, schema, schema === resource.schema && isCustomKind(resource))
    : { value: value as KubernetesObject, unknownFields: [] }
  const { value: object } = read
  if (object.kind !== kind.kind || object.apiVersion !== apiVersionOf(kind)) {
    throw internalError(
      `the patch makes ${object.kind}, version ${object.apiVersion}, of ${kind.kind}, version ${apiVersionOf(kind)}`,
    )
  }
  return read
}

function decodedAs(value: JsonValue, schema: StructSchema, customResource: boolean): ReadObject {
  try {
    return decode(value, schema, { customResource })
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw internalError(error.message, error)
  }
}

/** Schema of the kind of a subresource; undefined if unknown. */
function definitionOf({ group, version, kind }: GroupVersionKind): StructSchema | undefined {
  const name = definitionNames().find(
    each => each.endsWith(`.${version}.${kind}`) && kindsOf(each).some(found => found.group === group),
  )
  return name === undefined ? undefined : structDefinition(name)
}
