/** Common parts of all writes: the request, kind rules, admission and managed fields. */
import { type Convert, managedFieldsError, type JsonObject, trackUpdate } from '#/api/apply.ts'
import { convertObject } from '#/api/conversion.ts'
import { apiError, type ErrorSubject } from '#/api/errors.ts'
import { type FieldError, invalidObject } from '#/api/field-error.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { JsonValue } from '#/api/json-value.ts'
import type { KindRules } from '#/api/kind-rules.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/time.ts'
import { assert } from '#/base/assert.ts'
import { StoreError } from '#/store/store.ts'
import type { AdmissionRequest } from '../admission/admission.ts'
import type { UserInfo } from '../request.ts'
import { noReservation, type Reservation } from './hooks.ts'
import type { Registry } from './registry.ts'
import { resetFieldsOf } from './reset-fields.ts'
import { StoredObject } from './stored-object.ts'

/** A write of a user to a resource, in the version of the request. */
export interface WriteRequest {
  readonly resource: Resource
  readonly namespace: string
  readonly name: string
  readonly subresource: string
  readonly user: UserInfo
  readonly dryRun: boolean
  readonly fieldManager: string
  /** The options for admission. */
  readonly options: Readonly<Record<string, unknown>>
  warn(text: string): void
  /** Aborted when the client no longer waits for the response. */
  readonly signal?: AbortSignal
  /** Adds an audit annotation. */
  annotate: AdmissionRequest['annotate']
}

/**
 * `tracked` computes managed fields from the change; `given` keeps those of the object, as for server-side
 * apply.
 */
export type Ownership = 'tracked' | 'given'

/** The current object from the cache; on a miss, from the store. */
export async function latest(
  registry: Pick<Registry, 'cache' | 'store'>,
  key: string,
): Promise<StoredObject | undefined> {
  const cached = registry.cache.get(key)
  if (cached) return cached
  const entry = await registry.store.get(key)
  return entry && new StoredObject(entry.key, entry.revision, entry.value)
}

/** Updates the managed fields: the field manager owns what it changed, in the version of the request. */
export function withOwnership(
  registry: Registry,
  request: WriteRequest,
  before: KubernetesObject | undefined,
  object: KubernetesObject,
): KubernetesObject {
  const { resource, subresource, fieldManager } = request
  const tracked = trackUpdate({
    live: before && (convertObject(before, resource) as JsonObject),
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

export async function withReservation<T>(
  registry: Registry,
  request: WriteRequest,
  object: KubernetesObject,
  before: KubernetesObject | undefined,
  write: (object: KubernetesObject) => Promise<T>,
): Promise<T> {
  const reserve = registry.hooks.get(hookName(request.resource))?.reserve
  const reservation: Reservation = reserve
    ? await reserve(registry, object, before, request.dryRun)
    : noReservation(object)
  let result: T
  try {
    result = await write(reservation.object)
  } catch (error) {
    await reservation.rollback()
    throw error
  }
  const isWritten =
    result !== undefined &&
    !request.dryRun &&
    !(typeof result === 'object' && result !== null && 'current' in result)
  await (isWritten ? reservation.commit() : reservation.rollback())
  return result
}

/** Converts store errors to API errors. */
export async function attempt<T>(
  request: Pick<WriteRequest, 'resource'>,
  operation: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const { group, plural } = request.resource
    if (error.reason === 'too-large') {
      throw apiError(
        'RequestEntityTooLarge',
        `the object of ${plural}.${group} is larger than the store takes`,
        undefined,
        { cause: error },
      )
    }
    throw apiError(
      'ServiceUnavailable',
      `the store could not ${operation} the object: ${error.message}`,
      undefined,
      { cause: error },
    )
  }
}

/** Runs admission on an object posted to a subresource or for CONNECT; it is not stored. */
export async function admitPosted(
  { admission }: Pick<Registry, 'admission'>,
  request: WriteRequest,
  posted: KubernetesObject,
  operation: 'CREATE' | 'CONNECT' = 'CREATE',
): Promise<KubernetesObject> {
  const admitted =
    (await admission.mutate({ ...request, operation, object: posted, before: undefined })) ?? posted
  await admission.validate({ ...request, operation, object: admitted, before: undefined })
  return admitted
}

/** Runs mutating admission. Invalid changes of managedFields by a plugin are reverted with a warning. */
export async function mutated(
  { admission }: Pick<Registry, 'admission'>,
  request: AdmissionRequest,
): Promise<KubernetesObject> {
  const { object } = request
  assert(object !== undefined, 'there is an object to change')
  const admitted = (await admission.mutate(request)) ?? object
  const problem = checkOwners(object, admitted)
  if (problem === undefined) return admitted
  request.warn(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated ' +
      `mutating admission controller; please fix your requests: ${problem}`,
  )
  return { ...admitted, metadata: { ...admitted.metadata, managedFields: object.metadata?.managedFields } }
}

/** Returns what is invalid in managedFields after admission. */
function checkOwners(before: KubernetesObject, { metadata }: KubernetesObject): string | undefined {
  const owners = metadata?.managedFields
  if (owners === before.metadata?.managedFields) return undefined
  return managedFieldsError(owners as JsonValue | undefined)
}

export function admissionOf(
  request: WriteRequest,
  operation: 'CREATE' | 'UPDATE',
  object: KubernetesObject,
  before: KubernetesObject | undefined,
): AdmissionRequest {
  const { resource, subresource, namespace, name, user, dryRun, options } = request
  return {
    operation,
    resource,
    subresource,
    namespace,
    name,
    user,
    dryRun,
    options,
    object,
    before,
    warn: text => request.warn(text),
    ...(request.signal && { signal: request.signal }),
    annotate: (key, value, about) => request.annotate(key, value, about),
  }
}

export function check(request: WriteRequest, object: KubernetesObject, errors: readonly FieldError[]): void {
  if (errors.length > 0)
    throw invalidObject({ ...kindSubject(request), name: object.metadata?.name ?? '' }, errors)
}

export function withDefaults(rules: KindRules, object: KubernetesObject): KubernetesObject {
  return rules.withDefaults?.(object) ?? object
}

/** Erases the object type of the rules: objects stored under a resource have that type. */
export function rulesOf(resource: Resource): KindRules {
  return (resource.rules ?? {}) as unknown as KindRules
}

export function hookName({ group, plural }: Resource): string {
  return group === '' ? plural : `${plural}.${group}`
}

export function subjectOf(
  { resource }: Pick<WriteRequest, 'resource'>,
  name: string | undefined,
): ErrorSubject {
  return { group: resource.group, kind: resource.plural, ...(name && { name }) }
}

export function kindSubject({ resource, name }: Pick<WriteRequest, 'resource' | 'name'>): ErrorSubject {
  return { group: resource.group, kind: resource.kind, name }
}
