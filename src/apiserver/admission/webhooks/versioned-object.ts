/** Converts objects to and from the version that a webhook or policy requests. */
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { definitionNames, kindsOf, structDefinition } from '#/api/definitions.ts'
import { ApiError, internalError } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { applyPatch } from '#/api/patch.ts'
import { apiVersionOf, isCustomKind, type GroupVersionKind } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import { convertTo } from '../../registry/convert-objects.ts'
import { rulesOf, withDefaults } from '../../registry/resource-strategy.ts'
import type { MatchedResource } from '../matching/resource-rules.ts'

/** Objects of another kind than the resource's, such as Scale, are not converted. */
export async function versioned(
  object: KubernetesObject,
  { resource, kind }: MatchedResource,
): Promise<KubernetesObject> {
  return object.kind === resource.kind ? convertTo(resource, object, kind) : object
}

export interface PatchedObject {
  /** In the version of the object that was patched. */
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
export async function applyJsonPatch(
  object: KubernetesObject,
  patch: JsonValue,
  matched: MatchedResource,
): Promise<PatchedObject> {
  return decodeMutated(object, performed(await versioned(object, matched), patch), matched)
}

/**
 * Decodes, defaults and converts back an object that a webhook or policy has changed. Throws ApiError 500 if
 * it is invalid.
 */
export async function decodeMutated(
  object: KubernetesObject,
  made: JsonValue,
  matched: MatchedResource,
): Promise<PatchedObject> {
  const { resource } = matched
  const before = await versioned(object, matched)
  const { value: after, unknownFields } = decoded(made, matched)
  const isChanged = !equalJson(before, after)
  if (!isChanged) return { object, isChanged, unknownFields }
  if (object.kind !== resource.kind) return { object: after, isChanged, unknownFields }
  const filled = withDefaults(rulesOf(resource), after)
  const from = parseGroupVersion(object.apiVersion ?? '') ?? resource.storage
  return { object: await convertTo(resource, filled, from), isChanged, unknownFields }
}

function performed(object: KubernetesObject, patch: JsonValue): JsonValue {
  try {
    return applyPatch('json', { current: object as unknown as JsonValue, patch })
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw internalError(error.message, error)
  }
}

/** Undefined if the kind has no known schema, as the options of CONNECT. */
export function schemaOf({ resource, kind }: MatchedResource): StructSchema | undefined {
  return resource.kind === kind.kind && resource.group === kind.group ? resource.schema : definitionOf(kind)
}

interface ReadObject {
  readonly value: KubernetesObject
  readonly unknownFields: readonly string[]
}

function decoded(value: JsonValue, matched: MatchedResource): ReadObject {
  const { resource, kind } = matched
  const schema = schemaOf(matched)
  const read = schema
    ? decodedAs(value, schema, schema === resource.schema && isCustomKind(resource))
    : { value: value as unknown as KubernetesObject, unknownFields: [] }
  const { value: object } = read
  if (object.kind !== kind.kind || object.apiVersion !== apiVersionOf(kind)) {
    throw internalError(
      `patch must not change kind or apiVersion: expected ${kind.kind} ${apiVersionOf(kind)}, ` +
        `got ${object.kind} ${object.apiVersion}`,
    )
  }
  return read
}

function decodedAs(value: JsonValue, schema: StructSchema, customResource: boolean): ReadObject {
  try {
    const { value: object, unknownFields } = decode(value, schema, { customResource })
    return { value: objectOf(object), unknownFields }
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
