/** The metadata that belongs to the server: what clients send for it is replaced by what is so. */
import { conflict, type ErrorSubject } from '#/api/errors.ts'
import { deepFreeze, equalJson } from '#/api/json-value.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { StructSchema } from '#/api/schema.ts'
import { formatTime } from '#/api/time.ts'
import { zeroStruct } from '#/api/zero-value.ts'
import type { Platform } from '#/platform/platform.ts'

/** An object that is to be created, without what only the server can say of it. */
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
  } = object.metadata ?? {}
  return { ...object, metadata }
}

/** A new object has an identity and a time of birth, and is not being deleted. */
export function withBirth(object: KubernetesObject, platform: Platform): KubernetesObject {
  const { metadata: { managedFields, ...metadata } = {}, ...rest } = withoutSystemMetadata(object)
  const born: ObjectMeta = {
    ...metadata,
    uid: platform.random.uuid('object uid'),
    creationTimestamp: formatTime(platform.clock.now()),
    ...(managedFields && { managedFields }),
  }
  const { kind, apiVersion, ...fields } = rest
  return { kind, apiVersion, metadata: born, ...fields }
}

/** A new object without what only updates of its status may set. */
export function withoutStatus(object: KubernetesObject, resource: Resource): KubernetesObject {
  if (resource.rules?.createdWithStatus) return object
  if (!resource.subresources.has('status') || !('status' in object)) return object
  return dropStatus(object)
}

function dropStatus(object: KubernetesObject): KubernetesObject {
  const { status: _, ...rest } = object as KubernetesObject & { readonly status?: unknown }
  return rest
}

/** A new object of a kind that always has a status has one, if only of zeros. Custom kinds have what they are given. */
export function withZeroStatus(object: KubernetesObject, { schema }: Resource): KubernetesObject {
  const field = schema.fields.get('status')
  if (schema.name === '' || 'status' in object) return object
  if (field?.schema.type !== 'struct' || field.default === undefined) return object
  const complete: Stateful = { ...object, status: zeroStatus(field.schema) }
  return complete
}

/** Shared by all objects of a kind: they are immutable. */
const zeroStatuses = new WeakMap<StructSchema, object>()

function zeroStatus(schema: StructSchema): object {
  const known = zeroStatuses.get(schema)
  if (known) return known
  const zero = deepFreeze(zeroStruct(schema))
  zeroStatuses.set(schema, zero)
  return zero
}

/** An update keeps identity, birth and deletion as they are. */
export function withIdentityOf(
  object: KubernetesObject,
  before: KubernetesObject,
  subject: ErrorSubject,
): KubernetesObject {
  const { metadata: is = {} } = before
  const { metadata: sent = {} } = object
  if (sent.uid !== undefined && sent.uid !== '' && sent.uid !== is.uid) {
    throw conflict(
      subject,
      `Precondition failed: UID in precondition: ${sent.uid}, UID in object meta: ${is.uid}`,
    )
  }
  const {
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

/** An update of everything but the status, or of the status alone. */
export function withPartsOf(
  object: KubernetesObject,
  before: KubernetesObject,
  resource: Resource,
  subresource: string,
): KubernetesObject {
  if (!resource.subresources.has('status')) return object
  if (subresource !== 'status') return { ...dropStatus(object), ...pick(before as Stateful, ['status']) }
  return { ...dropStatus(before), metadata: object.metadata ?? {}, ...pick(object as Stateful, ['status']) }
}

/** Counts a change of anything but metadata and status. */
export function withGeneration(
  object: KubernetesObject,
  before: KubernetesObject | undefined,
  resource: Resource,
): KubernetesObject {
  if (!resource.rules?.tracksGeneration) return object
  const last = Number(before?.metadata?.generation ?? 0)
  const isChanged = before === undefined || !equalJson(wanted(object), wanted(before))
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
