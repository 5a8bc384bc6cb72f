/** Managed fields of writes: which field manager owns what. */
import { type Convert, type JsonObject, trackUpdate } from '#/api/apply.ts'
import { convertObject } from '#/api/conversion.ts'
import { isApiError } from '#/api/errors.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import { jsonOf, objectOf, type KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { isObject } from '#/api/text/json-object.ts'
import { stringifyJson } from '#/api/text/json.ts'
import { formatTime } from '#/api/text/time.ts'
import { withAbsentFields, withoutNullFields } from '#/api/zero-fields.ts'
import { TimeSlices } from '#/platform/time-slices.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import { convertTo } from './convert-objects.ts'
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
  const slices = new TimeSlices(registry.platform.clock, 'track managed fields')
  // A manager also owns fields that are included in JSON although they are absent.
  const encode = async (each: KubernetesObject): Promise<JsonObject> =>
    withAbsentFields(jsonOf(await convertTo(resource, each, resource)), resource.schema)
  const live = oldObject && (await encode(oldObject))
  const updated = withoutZeroReplicas(await encode(object), resource, subresource)
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
  await slices.pause()
  const { managedFields } = objectOf(tracked()).metadata
  const { managedFields: _, ...metadata } = object.metadata
  return { ...object, metadata: { ...metadata, ...(managedFields && { managedFields }) } }
}

/** A Scale omits zero replicas, so that no manager owns them. */
function withoutZeroReplicas(object: JsonObject, resource: Resource, subresource: string): JsonObject {
  if (subresource !== 'scale') return object
  return withoutZero(object, rulesOf(resource).scale?.specReplicas ?? ['spec', 'replicas'])
}

/** Objects that become empty are omitted, too. */
function withoutZero(object: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  const { [name]: value, ...others } = object
  if (rest.length === 0) return value === 0 ? others : object
  if (!isObject(value ?? null)) return object
  const inner = withoutZero(value as JsonObject, rest)
  if (inner === value) return object
  return Object.keys(inner).length === 0 ? others : { ...object, [name]: inner }
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
  const versionOf = (apiVersion: string): Resource | undefined => {
    const groupVersion = parseGroupVersion(apiVersion)
    return groupVersion && registry.scheme.byKind({ ...groupVersion, kind: resource.kind })
  }
  const convert: Convert = (object, apiVersion) => {
    const other = versionOf(apiVersion)
    // A version that is no longer served.
    if (other === undefined) return undefined
    const { conversion } = rulesOf(other)
    // Managed fields are computed with the absent fields that JSON includes; conversions expect objects in memory.
    const given = objectOf(
      withoutNullFields(object, (versionOf(objectOf(object).apiVersion ?? '') ?? resource).schema),
    )
    const versioned = (converted: KubernetesObject): ReturnType<Convert> => {
      return { object: withAbsentFields(jsonOf(converted), other.schema), schema: other.schema }
    }
    if (conversion === undefined) return versioned(convertObject(given, other))
    const key = known.size > 0 ? keyOf(object, apiVersion) : undefined
    const earlier = key === undefined ? undefined : known.get(key)
    if (earlier) return versioned(earlier)
    const converted = conversion.convert([given], other)
    if (converted instanceof Promise) throw new PendingConversion(keyOf(object, apiVersion), converted)
    return versioned(converted[0]!)
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
