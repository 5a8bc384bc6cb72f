/** Managed fields of writes: which field manager owns what. */
import { type Convert, type JsonObject, trackUpdate } from '#/api/apply.ts'
import { convertObject } from '#/api/conversion.ts'
import { isApiError } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { stringifyJson } from '#/api/text/json.ts'
import { formatTime } from '#/api/text/time.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import { convertTo, internalVersionOf } from './convert-objects.ts'
import type { Registry } from './registry.ts'
import { resetFieldsOf } from './reset-fields.ts'
import { rulesOf } from './resource-strategy.ts'
import type { WriteRequest } from './write-request.ts'

/** Updates the managed fields: the field manager owns what it changed, in the version of the request. */
export async function withManagedFields(
  registry: Registry,
  request: WriteRequest,
  { object, oldObject }: Pick<AdmissionAttributes, 'oldObject'> & { readonly object: KubernetesObject },
): Promise<KubernetesObject> {
  if (request.fieldManager === undefined) return object
  try {
    return await track(registry, request, { object, oldObject })
  } catch (error) {
    // The write must not fail because ownership cannot be computed: the managed fields stay unchanged.
    if (!isApiError(error)) throw error
    const { managedFields: _, ...metadata } = object.metadata
    const before = oldObject?.metadata.managedFields
    return { ...object, metadata: { ...metadata, ...(before && { managedFields: before }) } }
  }
}

async function track(
  registry: Registry,
  { resource, subresource, fieldManager = '' }: WriteRequest,
  { object, oldObject }: Pick<AdmissionAttributes, 'oldObject'> & { readonly object: KubernetesObject },
): Promise<KubernetesObject> {
  const live = oldObject && jsonOf(await convertTo(resource, oldObject, resource))
  const updated = jsonOf(await convertTo(resource, object, resource))
  const tracked = await runWithConversions(registry, resource, convert =>
    trackUpdate({
      live,
      updated,
      manager: fieldManager,
      schema: resource.schema,
      apiVersion: apiVersionOf(resource),
      now: formatTime(registry.platform.clock.now()),
      convert,
      resetFields: resetFieldsOf(resource, subresource),
      ...(subresource && { subresource }),
    }),
  )
  return convertTo(resource, objectOf(tracked), internalVersionOf(resource))
}

/**
 * Runs a pure computation that converts objects to the versions in managed fields. A conversion that calls a
 * webhook interrupts the computation, which is run again when the converted object is known.
 */
export async function runWithConversions<T>(
  registry: Registry,
  resource: Resource,
  compute: (convert: Convert) => T,
): Promise<T> {
  const known = new Map<string, KubernetesObject>()
  const convert: Convert = (object, apiVersion) => {
    const groupVersion = parseGroupVersion(apiVersion)
    const other = groupVersion && registry.scheme.byKind({ ...groupVersion, kind: resource.kind })
    // A version that is no longer served.
    if (other === undefined) return undefined
    const { conversion } = rulesOf(other)
    const given = objectOf(object)
    if (conversion === undefined) return { object: jsonOf(convertObject(given, other)), schema: other.schema }
    const key = known.size > 0 ? keyOf(object, apiVersion) : undefined
    const earlier = key === undefined ? undefined : known.get(key)
    if (earlier) return { object: jsonOf(earlier), schema: other.schema }
    const converted = conversion.convert([given], other)
    if (converted instanceof Promise) throw new PendingConversion(keyOf(object, apiVersion), converted)
    return { object: jsonOf(converted[0]!), schema: other.schema }
  }
  for (;;) {
    try {
      return compute(convert)
    } catch (error) {
      if (!(error instanceof PendingConversion)) throw error
      const [converted] = await error.converted
      known.set(error.key, converted!)
    }
  }
}

class PendingConversion extends Error {
  readonly key: string
  readonly converted: Promise<readonly KubernetesObject[]>

  constructor(key: string, converted: Promise<readonly KubernetesObject[]>) {
    super('the conversion is pending')
    this.key = key
    this.converted = converted
  }
}

function keyOf(object: JsonObject, apiVersion: string): string {
  return `${apiVersion} ${stringifyJson(object)}`
}
