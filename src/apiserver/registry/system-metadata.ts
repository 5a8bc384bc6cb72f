/** Metadata that the server sets; values sent by clients are replaced. */
import { conflict, type ErrorSubject } from '#/api/errors.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import { isCustomKind, type Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Platform } from '#/platform/platform.ts'
import { restoresMetadata } from './resource-strategy.ts'

/** Removes the server-set metadata from an object to be created. */
export function withoutSystemMetadata(object: KubernetesObject): KubernetesObject {
  const {
    uid: _uid,
    creationTimestamp: _creation,
    resourceVersion: _revision,
    selfLink: _link,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    ...metadata
  } = object.metadata
  return { ...object, metadata }
}

/** Sets uid and creationTimestamp of a new object. */
export function withUid(object: KubernetesObject, platform: Platform): KubernetesObject {
  const {
    metadata: { managedFields, ...metadata },
    ...rest
  } = withoutSystemMetadata(object)
  const objectMeta: ObjectMeta = {
    ...metadata,
    uid: platform.random.uuid('object uid'),
    creationTimestamp: formatTime(platform.clock.now()),
    ...(managedFields && { managedFields }),
  }
  const { kind, apiVersion, ...fields } = rest
  return { kind, apiVersion, metadata: objectMeta, ...fields }
}

/** Removes the status of a new object, which only the status subresource may set. */
export function withoutStatus(object: KubernetesObject, resource: Resource): KubernetesObject {
  if (resource.rules?.keepStatusOnCreate) return object
  if (!resource.subresources.has('status') || !('status' in object)) return object
  return dropStatus(object)
}

function dropStatus(object: KubernetesObject): KubernetesObject {
  const { status: _, ...rest } = object as KubernetesObject & { readonly status?: unknown }
  return rest
}

/** Throws ApiError 409 if the object is another one than the client wants to replace. */
export function checkUidPrecondition(
  uid: string | undefined,
  { metadata }: KubernetesObject,
  { subject, key }: { readonly subject: ErrorSubject; readonly key: string },
): void {
  if (uid === undefined || uid === '' || uid === metadata.uid) return
  const failed = `UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`
  throw conflict(
    subject,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, ` +
      `AdditionalErrorMsg: Precondition failed: ${failed}`,
  )
}

/** Keeps creationTimestamp and deletion metadata on update. */
export function withObjectMetaOf(object: KubernetesObject, oldObject: KubernetesObject): KubernetesObject {
  const { metadata: is } = oldObject
  const { metadata: sent } = object
  const {
    namespace: _namespace,
    generation: _generation,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    ...kept
  } = sent
  const metadata: ObjectMeta = {
    ...kept,
    ...pick(is, ['name', 'namespace', 'generateName', 'resourceVersion', 'generation', 'creationTimestamp']),
    ...pick(is, ['deletionTimestamp', 'deletionGracePeriodSeconds']),
    // Another uid is invalid.
    ...(!sent.uid && pick(is, ['uid'])),
  }
  return { ...object, metadata }
}

export interface SubresourceUpdate {
  readonly resource: Resource
  readonly subresource: string
  readonly oldObject: KubernetesObject
}

/** Restricts an update to everything except the status, or to the status alone. */
export function withSubresourceOf(
  { resource, subresource, oldObject }: SubresourceUpdate,
  object: KubernetesObject,
): KubernetesObject {
  if (!resource.subresources.has('status')) return object
  if (subresource !== 'status') return { ...dropStatus(object), ...pick(oldObject as Stateful, ['status']) }
  return {
    ...dropStatus(oldObject),
    metadata: restoresMetadata(resource)
      ? withMetadataOf(object.metadata, oldObject.metadata)
      : object.metadata,
    ...pick(object as Stateful, ['status']),
  }
}

/** Restores the metadata that clients can otherwise set. */
function withMetadataOf(sent: ObjectMeta, old: ObjectMeta): ObjectMeta {
  const { labels: _l, annotations: _a, finalizers: _f, ownerReferences: _o, ...rest } = sent
  return { ...rest, ...pick(old, ['labels', 'annotations', 'finalizers', 'ownerReferences']) }
}

/** Increments the generation if anything but metadata and status changed. */
export function withGeneration(
  object: KubernetesObject,
  oldObject: KubernetesObject | undefined,
  resource: Resource,
): KubernetesObject {
  const { tracksGeneration = false, generationCounts } = resource.rules ?? {}
  if (!tracksGeneration || (tracksGeneration === 'on-update' && oldObject === undefined)) return object
  if (oldObject === undefined) return { ...object, metadata: { ...object.metadata, generation: 1 } }
  const last = Number(oldObject.metadata.generation ?? 0)
  // Without the subresource, the status of a custom resource is a field like any other.
  const hasStatus = resource.subresources.has('status') || !isCustomKind(resource)
  const isChanged =
    !equalJson(wanted(object, hasStatus), wanted(oldObject, hasStatus)) ||
    (generationCounts !== undefined &&
      !equalJson(object.metadata[generationCounts] ?? {}, oldObject.metadata[generationCounts] ?? {}))
  return isChanged ? { ...object, metadata: { ...object.metadata, generation: last + 1 } } : object
}

type Stateful = KubernetesObject & { readonly status?: unknown }

function wanted(object: KubernetesObject, hasStatus: boolean): object {
  const { metadata: _metadata, status, ...others } = object as Stateful
  const rest = hasStatus ? others : { ...others, status }
  // An empty list is none: Kubernetes stores it as null.
  return Object.fromEntries(
    Object.entries(rest).filter(([, value]) => !Array.isArray(value) || value.length > 0),
  )
}

function pick<T extends object, K extends keyof T>(object: T, names: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {}
  for (const name of names) if (object[name] !== undefined) picked[name] = object[name]
  return picked
}
