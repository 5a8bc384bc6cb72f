import { isApiError } from '#/api/errors.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { TransportError } from '#/client/transport.ts'
import type { Clock } from '#/platform/platform.ts'
import { itemsOf } from './find-resources.ts'
import { locationOf, metadataText, type Info } from './info.ts'
import type { ResourceClient } from './resource-client.ts'

/** A state of the object; without an object, it does not exist. */
export interface ObjectState {
  readonly object?: JsonObject
  /** True for a state that ends the life of an object, false if there was none. */
  readonly isDeleted: boolean
}

export interface WatchObjectOptions {
  readonly resources: ResourceClient
  readonly clock: Clock
  readonly info: Pick<Info, 'mapping' | 'namespace' | 'name'>
}

/** Pause before a lost connection is opened again. */
export const retryMs = 1_000

/**
 * The states of one object: the present one, and each that follows. Lost connections and expired watches are
 * resumed.
 * Ends only with an error, which is the reason of the signal when it was aborted.
 */
export async function* watchObject(
  { resources, clock, info }: WatchObjectOptions,
  signal: AbortSignal,
): AsyncGenerator<ObjectState, never, undefined> {
  let last: JsonObject | undefined
  for (let isFirst = true; ; isFirst = false) {
    try {
      const { object, resourceVersion } = await readObject({ resources, info }, signal)
      const changed = object === undefined ? last !== undefined : versionOf(object) !== versionOf(last)
      const isReplaced = object && last && metadataText(object, 'uid') !== metadataText(last, 'uid')
      if (isReplaced) yield { isDeleted: true }
      if (isFirst || changed) yield { ...(object && { object }), isDeleted: !isFirst && object === undefined }
      last = object
      let version = resourceVersion
      for (;;) {
        for await (const event of resources.watch(locationOf(info), { resourceVersion: version, signal })) {
          version = metadataText(event.object, 'resourceVersion') || version
          if (event.type === 'BOOKMARK') continue
          const isDeleted = event.type === 'DELETED'
          last = isDeleted ? undefined : event.object
          yield isDeleted ? { isDeleted } : { object: event.object, isDeleted }
        }
      }
    } catch (error) {
      if (signal.aborted || !isTemporary(error)) throw error
      await clock.sleep(retryMs, signal)
    }
  }
}

/** The object with the resource version of its collection, from which it can be watched. */
async function readObject(
  { resources, info }: Pick<WatchObjectOptions, 'resources' | 'info'>,
  signal: AbortSignal,
) {
  const { name, ...collection } = locationOf(info)
  const list = await resources.get(collection, { fieldSelector: `metadata.name=${name}`, signal })
  const [object] = itemsOf(list)
  const { metadata } = list
  const resourceVersion = isObject(metadata) ? metadata['resourceVersion'] : undefined
  return { object, resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '' }
}

function versionOf(object: JsonObject | undefined): string {
  return object === undefined ? '' : metadataText(object, 'resourceVersion')
}

const temporaryReasons = [
  'Expired',
  'Gone',
  'InternalError',
  'ServerTimeout',
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
]

/** True for an error after which a list and a watch can be tried again. */
export function isTemporary(error: unknown): boolean {
  return error instanceof TransportError || (isApiError(error) && temporaryReasons.includes(error.reason))
}
