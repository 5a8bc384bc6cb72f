/**
 * Versions of objects in the registry. Kinds that `api/conversion.ts` converts are admitted and validated in
 * their storage version; kinds with a conversion of their own in the version of the request.
 */
import { convertObject } from '#/api/conversion.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { apiVersionOf, type GroupVersion, type Resource } from '#/api/resource.ts'
import type { CacheEvent } from './cache-event.ts'
import { rulesOf } from './resource-strategy.ts'
import { encodeForStore, StoredObject } from './stored-object.ts'

/** True if objects of the resource must be read before selectors are applied to them. */
export function isConvertedOnRead(resource: Resource): boolean {
  return rulesOf(resource).conversion !== undefined
}

/** The version in which a write of the resource is admitted and validated. */
export function internalVersionOf(resource: Resource): GroupVersion {
  return rulesOf(resource).conversion ? resource : resource.storage
}

/** Converts an object of the kind to another of its versions. Rejects with ApiError. */
export async function convertTo(
  resource: Resource,
  object: KubernetesObject,
  to: GroupVersion,
): Promise<KubernetesObject> {
  if (object.apiVersion === apiVersionOf(to)) return object
  const { conversion } = rulesOf(resource)
  if (conversion === undefined) return convertObject(object, to)
  const [converted] = await conversion.convert([object], to)
  return converted!
}

/**
 * Converts an object to the version in which it is stored. There it is defaulted and pruned at once, as reading does:
 * its own version may allow other fields.
 */
export async function convertToStored(
  resource: Resource,
  object: KubernetesObject,
): Promise<KubernetesObject> {
  const written = await convertTo(resource, object, resource.storage)
  const { conversion } = rulesOf(resource)
  if (conversion === undefined || written === object) return written
  const [decoded] = await conversion.decode([written], resource.storage)
  return decoded!
}

/**
 * The objects as readers of the resource see them. Objects of kinds without a conversion of their own are
 * returned as they are stored, and converted when they are encoded. Rejects with ApiError.
 */
export async function readObjects(
  resource: Resource,
  stored: readonly StoredObject[],
): Promise<readonly StoredObject[]> {
  const { conversion } = rulesOf(resource)
  const name = formNameOf(resource)
  if (conversion === undefined || name === undefined || stored.length === 0) return stored
  const missing = stored.filter(each => !each.hasForm(name))
  if (missing.length > 0) {
    const converted = conversion.decode(
      missing.map(({ object }) => object),
      resource,
    )
    if (converted instanceof Promise) cachePending(missing, name, converted)
    else
      for (const [index, each] of missing.entries())
        each.form(name, () => withObject(each, converted[index]!, name))
  }
  const read: StoredObject[] = []
  const forms = stored.map(each => each.form<Form>(name, () => each))
  for (const form of forms) read.push(form instanceof StoredObject ? form : await form)
  return read
}

/** The object as readers of the resource see it. */
export async function readObject(resource: Resource, stored: StoredObject): Promise<StoredObject> {
  const [read] = await readObjects(resource, [stored])
  return read!
}

/**
 * Notes that the written object is what readers of the resource see: it was defaulted and pruned in the version
 * that is stored.
 */
export function markRead(resource: Resource, stored: StoredObject): StoredObject {
  const name = formNameOf(resource)
  return name === undefined ? stored : stored.form(name, () => stored)
}

/** The events as watchers of the resource see them, each shared by all watchers of a version. */
export async function readEvents(
  resource: Resource,
  events: readonly CacheEvent[],
): Promise<readonly CacheEvent[]> {
  const name = formNameOf(resource)
  if (name === undefined) return events
  const objects = events.flatMap(({ current, previous }) => [current, previous].filter(isDefined))
  const read = await readObjects(resource, objects)
  const byStored = new Map(objects.map((stored, index) => [stored, read[index]!]))
  return events.map(event => event.form(name, stored => byStored.get(stored) ?? stored))
}

/** The name under which objects and events cache the form that readers of the resource see. */
function formNameOf(resource: Resource): string | undefined {
  const { conversion } = rulesOf(resource)
  return conversion && `read ${apiVersionOf(resource)} ${conversion.name}`
}

/** A pending conversion is shared by all readers; a failed one is tried again by the next. */
type Form = StoredObject | Promise<StoredObject>

function cachePending(
  stored: readonly StoredObject[],
  name: string,
  converted: Promise<readonly KubernetesObject[]>,
): void {
  for (const [index, each] of stored.entries()) {
    const pending = converted.then(objects => withObject(each, objects[index]!, name))
    void each.form<Form>(name, () => pending)
    pending.then(
      made => each.replaceForm(name, made),
      () => each.replaceForm(name, undefined),
    )
  }
}

/** The stored object itself if reading does not change it. */
function withObject(stored: StoredObject, object: KubernetesObject, name: string): StoredObject {
  if (object === stored.object) return stored
  const { key, revision } = stored
  const read = new StoredObject({ key, revision, value: encodeForStore(object) }, object)
  // Reading it again changes nothing.
  return read.form(name, () => read)
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined
}
