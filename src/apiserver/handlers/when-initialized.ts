import { ApiError, internalError, qualifiedName, timeout, type Status } from '#/api/errors.ts'
import type { CacheEvent } from '../registry/cache-event.ts'
import { initializersOf } from '../registry/initialization.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { subjectOf, type WriteRequest } from '../registry/write-request.ts'
import type { RequestScope } from './request-scope.ts'

/** Maximum time that a create request waits for initialization; the object can still be initialized later. */
const waitMsMax = 30_000

/**
 * Resolves when the new object is initialized, or at once if the client requested uninitialized objects.
 * Rejects with ApiError if initialization fails, the object is deleted, or the wait times out.
 */
export async function whenInitialized(
  { registry, objects }: Pick<RequestScope, 'registry' | 'objects'>,
  request: WriteRequest,
  created: StoredObject,
): Promise<StoredObject> {
  const { withUninitialized } = registry.cache
  if (withUninitialized === undefined || withUninitialized === objects || request.dryRun) return created
  if (initializersOf(created.object) === undefined) return created
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
  const timer = registry.platform.clock.setTimer(waitMsMax, onReset)
  const { signal } = request
  const abort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', abort)
  if (signal?.aborted) abort()
  withUninitialized.subscribe(created.key, subscriber)
  take(withUninitialized.eventsAfter(created.key, created.revision) ?? [])
  try {
    return await promise
  } finally {
    withUninitialized.unsubscribe(created.key, subscriber)
    signal?.removeEventListener('abort', abort)
    timer.cancel()
  }
}

function failureOf(result: Partial<Status>): ApiError {
  return new ApiError({ ...result, kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' })
}

function tooLate(request: WriteRequest, { object }: StoredObject): ApiError {
  const subject = subjectOf(request, undefined)
  const what = `${qualifiedName(subject)} ${object.metadata.name ?? ''}`
  return timeout(`server has timed out waiting for the initialization of ${what}`, 0)
}
