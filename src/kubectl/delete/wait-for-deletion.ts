import { isApiError } from '#/api/errors.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { isObject } from '#/api/text/json-object.ts'
import type { Factory } from '../factory.ts'
import { locationOf, metadataText, type Info } from '../resource/info.ts'
import type { ResourceClient } from '../resource/resource-client.ts'

/** An object whose deletion was requested. */
export interface DeletedObject {
  readonly info: Info
  /** Of the deleted object, empty if unknown. An object with another uid was created after the deletion. */
  readonly uid: string
}

/** A timeout of 0. */
const defaultTimeoutMs = 7 * 24 * 3_600_000

/** The pause before a watch that ended is repeated. */
const watchAgainMs = 200

/**
 * Waits until the objects are gone. Throws Error when the timeout has passed. Returns at once if the user may
 * not read the objects.
 */
export async function waitForDeletion(
  factory: Factory,
  { deleted, timeoutMs }: { readonly deleted: readonly DeletedObject[]; readonly timeoutMs: number },
): Promise<void> {
  const { clock } = factory.machine.platform
  const timeout = new AbortController()
  const timer = clock.setTimer(timeoutMs || defaultTimeoutMs, () => timeout.abort())
  try {
    const resources = await factory.resources()
    for (const each of deleted) {
      while (!(await isGone({ ...each, resources, signal: timeout.signal }))) {
        await clock.sleep(watchAgainMs, timeout.signal).catch(() => undefined)
        if (timeout.signal.aborted) throw timedOut(each.info)
      }
    }
  } catch (error) {
    if (!isApiError(error, 'Forbidden') && !isApiError(error, 'MethodNotAllowed')) throw error
  } finally {
    timer.cancel()
  }
}

interface Waited extends DeletedObject {
  readonly resources: ResourceClient
  readonly signal: AbortSignal
}

/** Watches the object until it is gone; false if the watch has ended before. */
async function isGone({ info, uid, resources, signal }: Waited): Promise<boolean> {
  try {
    const object = await resources.get(locationOf(info), { signal })
    if (uid !== '' && metadataText(object, 'uid') !== uid) return true
    const resourceVersion = metadataText(object, 'resourceVersion')
    for await (const { type } of resources.watch(locationOf(info), { resourceVersion, signal })) {
      if (type === 'DELETED') return true
    }
    return false
  } catch (error) {
    if (signal.aborted) throw timedOut(info)
    if (isApiError(error, 'NotFound')) return true
    // The watch starts again at the current version.
    if (isApiError(error, 'Expired') || isApiError(error, 'Gone')) return false
    throw error
  }
}

function timedOut({ mapping, name }: Info): Error {
  return new Error(`timed out waiting for the condition on ${mapping.plural}/${name}`)
}

/** The uid in the response to a deletion: an object, or a Status. */
export function deletedUid(response: JsonObject): string {
  const { kind, details } = response
  if (kind === 'Status') return isObject(details) && typeof details['uid'] === 'string' ? details['uid'] : ''
  return metadataText(response, 'uid')
}
