/**
 * Writes while initializers are pending: a create request waits for them, an uninitialized pod can be changed
 * like a new one, and an object whose initialization failed is deleted.
 */
import { ApiError, internalError, qualifiedName, timeout, type Status } from '#/api/errors.ts'
import type { Resource } from '#/api/resource.ts'
import type { Clock } from '#/platform/platform.ts'
import type { CacheEvent } from '../../../registry/cache-event.ts'
import type { GenericHooks } from '../../../registry/hooks.ts'
import type { Registry } from '../../../registry/registry.ts'
import type { StoredObject } from '../../../registry/stored-object.ts'
import { removeObject, type Removal } from '../../../registry/update-object.ts'
import { subjectOf, type WriteRequest } from '../../../registry/write-request.ts'
import type { ObjectCache } from '../../../registry/watch-cache.ts'
import { initializersOf } from './initialization.ts'

/** For requests that also read uninitialized objects, and therefore do not wait. */
export const updateHooks: GenericHooks = {
  resourceForUpdate: (resource, oldObject) =>
    initializersOf(oldObject) === undefined ? resource : withCreateRules(resource),
  afterUpdate: removeFailed,
}

/** For all other requests. `cache` includes uninitialized objects. */
export function initializationHooks(cache: ObjectCache, clock: Clock): GenericHooks {
  return {
    ...updateHooks,
    afterCreate: async (request, created) =>
      request.dryRun || initializersOf(created.object) === undefined
        ? created
        : whenInitialized({ cache, clock, request }, created),
  }
}

/** Maximum time that a create request waits for initialization; the object can still be initialized later. */
const waitMsMax = 30_000

interface Waiting {
  readonly cache: ObjectCache
  readonly clock: Clock
  readonly request: WriteRequest
}

/** Rejects with ApiError if initialization fails, the object is deleted, or the wait times out. */
async function whenInitialized(
  { cache, clock, request }: Waiting,
  created: StoredObject,
): Promise<StoredObject> {
  const { promise, resolve, reject } = Promise.withResolvers<StoredObject>()
  const take = (events: readonly CacheEvent[]): void => {
    for (const { revision, current, previous } of events) {
      if (revision <= created.revision) continue
      const { result } = initializersOf((current ?? previous)?.object) ?? {}
      if (result) reject(failureOf(result))
      else if (current === undefined) reject(internalError('object deleted while waiting for creation'))
      else if (initializersOf(current.object) === undefined) resolve(current)
    }
  }
  const onReset = (): void => reject(tooLate(request, created))
  const subscriber = { onEvents: take, onReset }
  const timer = clock.setTimer(waitMsMax, onReset)
  const { signal } = request
  const abort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  cache.subscribe(created.key, subscriber)
  take(cache.eventsAfter(created.key, created.revision) ?? [])
  try {
    return await promise
  } finally {
    cache.unsubscribe(created.key, subscriber)
    signal?.removeEventListener('abort', abort)
    timer.cancel()
  }
}

function failureOf(result: Partial<Status>): ApiError {
  return new ApiError({ ...result, kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' })
}

function tooLate(request: WriteRequest, { object }: StoredObject): ApiError {
  const subject = subjectOf(request, undefined)
  const what = `${qualifiedName(subject)} ${object.metadata.name}`
  return timeout(`server has timed out waiting for the initialization of ${what}`, 0)
}

const completable = new WeakMap<Resource, Resource>()

/**
 * Updates of an uninitialized pod use the rules for creation, because none of its fields are in use yet.
 * Other kinds keep their update rules.
 */
function withCreateRules(resource: Resource): Resource {
  if (resource.group !== '' || resource.plural !== 'pods') return resource
  const known = completable.get(resource)
  if (known) return known
  const { prepareForCreate, validate, ...rules } = resource.rules ?? {}
  const made: Resource = {
    ...resource,
    rules: {
      ...rules,
      ...(prepareForCreate && { prepareForCreate, prepareForUpdate: prepareForCreate }),
      ...(validate && { validate, validateUpdate: validate }),
    },
  }
  completable.set(resource, made)
  return made
}

/** Removes an object if its initialization failed, regardless of finalizers. */
async function removeFailed(registry: Registry, request: WriteRequest, stored: StoredObject): Promise<void> {
  if (request.dryRun || initializersOf(stored.object)?.result === undefined) return
  let current: StoredObject | undefined = stored
  while (current !== undefined && current.object.metadata.uid === stored.object.metadata.uid) {
    const removal: Removal = await removeObject(registry, request, current)
    if (!('current' in removal)) return
    current = removal.current
  }
}
