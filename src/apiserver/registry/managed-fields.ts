/** Managed fields of writes: which field manager owns what. */
import { type Convert, trackUpdate } from '#/api/apply.ts'
import { convertObject } from '#/api/conversion.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import type { Registry } from './registry.ts'
import { resetFieldsOf } from './reset-fields.ts'
import type { WriteRequest } from './write-request.ts'

/** Updates the managed fields: the field manager owns what it changed, in the version of the request. */
export function withManagedFields(
  registry: Registry,
  request: WriteRequest,
  { object, oldObject }: Pick<AdmissionAttributes, 'oldObject'> & { readonly object: KubernetesObject },
): KubernetesObject {
  const { resource, subresource, fieldManager } = request
  if (fieldManager === undefined) return object
  const tracked = trackUpdate({
    live: oldObject && jsonOf(convertObject(oldObject, resource)),
    updated: jsonOf(convertObject(object, resource)),
    manager: fieldManager,
    schema: resource.schema,
    apiVersion: apiVersionOf(resource),
    now: formatTime(registry.platform.clock.now()),
    convert: conversionIn(registry, resource),
    resetFields: resetFieldsOf(resource, subresource),
    ...(subresource && { subresource }),
  })
  return convertObject(objectOf(tracked), resource.storage)
}

/** Converts objects to the versions in managed fields; undefined for versions no longer served. */
export function conversionIn(registry: Registry, { kind }: Resource): Convert {
  return (object, apiVersion) => {
    const groupVersion = parseGroupVersion(apiVersion)
    const other = groupVersion && registry.scheme.byKind({ ...groupVersion, kind })
    return other && { object: jsonOf(convertObject(objectOf(object), other)), schema: other.schema }
  }
}
