/** Managed fields of writes: which field manager owns what. */
import { type Convert, type JsonObject, trackUpdate } from '#/api/apply.ts'
import { convertObject } from '#/api/conversion.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/time.ts'
import type { Registry } from './registry.ts'
import { resetFieldsOf } from './reset-fields.ts'
import type { WriteRequest } from './write-request.ts'

/** Updates the managed fields: the field manager owns what it changed, in the version of the request. */
export function withManagedFields(
  registry: Registry,
  request: WriteRequest,
  oldObject: KubernetesObject | undefined,
  object: KubernetesObject,
): KubernetesObject {
  const { resource, subresource, fieldManager } = request
  if (fieldManager === undefined) return object
  const tracked = trackUpdate({
    live: oldObject && (convertObject(oldObject, resource) as JsonObject),
    updated: convertObject(object, resource) as JsonObject,
    manager: fieldManager,
    schema: resource.schema,
    apiVersion: apiVersionOf(resource),
    now: formatTime(registry.platform.clock.now()),
    convert: conversionIn(registry, resource),
    resetFields: resetFieldsOf(resource, subresource),
    ...(subresource && { subresource }),
  }) as KubernetesObject
  return convertObject(tracked, resource.storage)
}

/** Converts objects to the versions in managed fields; undefined for versions no longer served. */
export function conversionIn(registry: Registry, { kind }: Resource): Convert {
  return (object, apiVersion) => {
    const groupVersion = parseGroupVersion(apiVersion)
    const other = groupVersion && registry.scheme.byKind({ ...groupVersion, kind })
    return other && { object: convertObject(object, other) as JsonObject, schema: other.schema }
  }
}
