/** Metadata that the server sets; values sent by clients are replaced. */
import { conflict, type ErrorSubject } from '#/api/errors.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Platform } from '#/platform/platform.ts'

/** Removes the server-set metadata from an object to be created. */
export function withoutSystemMetadata(object: KubernetesObject): KubernetesObject {
  const {
    uid: _uid,
    creationTimestamp: _creation,
    resourceVersion: _revision,
    selfLink: _link,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
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

/** Keeps uid, creationTimestamp and deletion metadata on update. */
export function withObjectMetaOf(
  object: KubernetesObject,
  oldObject: KubernetesObject,
  { subject, key }: { readonly subject: ErrorSubject; readonly key: string },
): KubernetesObject {
  const { metadata: is } = oldObject
  const { metadata: sent } = object
  if (sent.uid !== undefined && sent.uid !== '' && sent.uid !== is.uid) {
    const failed = `UID in precondition: ${sent.uid}, UID in object meta: ${is.uid}`
    throw conflict(
      subject,
      `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, ` +
        `AdditionalErrorMsg: Precondition failed: ${failed}`,
    )
  }
  const {
    namespace: _namespace,
    generation: _generation,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    ...kept
  } = sent
  const metadata: ObjectMeta = {
    ...kept,
    ...pick(is, [
      'name',
      'namespace',
      'generateName',
      'uid',
      'resourceVersion',
      'generation',
      'creationTimestamp',
    ]),
    ...pick(is, ['deletionTimestamp', 'deletionGracePeriodSeconds']),
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
    metadata: object.metadata,
    ...pick(object as Stateful, ['status']),
  }
}

/** Increments the generation if anything but metadata and status changed. */
export function withGeneration(
  object: KubernetesObject,
  oldObject: KubernetesObject | undefined,
  resource: Resource,
): KubernetesObject {
  const { tracksGeneration = false } = resource.rules ?? {}
  if (!tracksGeneration || (tracksGeneration === 'on-update' && oldObject === undefined)) return object
  const last = Number(oldObject?.metadata.generation ?? 0)
  const isChanged = oldObject === undefined || !equalJson(wanted(object), wanted(oldObject))
  return { ...object, metadata: { ...object.metadata, generation: isChanged ? last + 1 : last } }
}

type Stateful = KubernetesObject & { readonly status?: unknown }

function wanted(object: KubernetesObject): object {
  const { metadata: _metadata, status: _status, ...rest } = object as Stateful
  return rest
}

function pick<T extends object, K extends keyof T>(object: T, names: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {}
  for (const name of names) if (object[name] !== undefined) picked[name] = object[name]
  return picked
}
