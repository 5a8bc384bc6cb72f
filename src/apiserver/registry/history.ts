/** Reads of revisions older than the watch cache, from the store. */
import type { Store } from '#/store/store.ts'
import { CacheEvent } from './cache-event.ts'
import { StoredObject } from './stored-object.ts'

export interface ListAtOptions {
  readonly prefix: string
  readonly revision: number
  /** The list starts after this key. */
  readonly after: string | undefined
  /** Maximum number of objects in a page. */
  readonly limit: number
}

export interface HistoryPage {
  readonly objects: readonly StoredObject[]
  /** Number of keys after the page. */
  readonly remaining: number
}

export async function* listAt(
  store: Store,
  { prefix, revision, after, limit }: ListAtOptions,
): AsyncGenerator<HistoryPage, void, undefined> {
  let position = after
  for (;;) {
    const { entries, remaining } = await store.list({
      prefix,
      revision,
      limit,
      ...(position && { after: position }),
    })
    yield {
      objects: entries.map(entry => new StoredObject(entry)),
      remaining,
    }
    if (remaining === 0) return
    position = entries.at(-1)!.key
  }
}

export interface ReplayOptions {
  /** Ends with a slash, or is a single key. */
  readonly prefix: string
  readonly afterRevision: number
  /** Revision of the last event. */
  readonly untilRevision: number
  readonly signal: AbortSignal
}

/** The cost depends on the number of changed objects, not on that of all objects under the prefix. */
export async function* replay(
  store: Store,
  { prefix, afterRevision, untilRevision, signal }: ReplayOptions,
): AsyncGenerator<readonly CacheEvent[], void, undefined> {
  /** The objects of replayed events; undefined for those that did not exist before. */
  const known = new Map<string, StoredObject | undefined>()
  const watch = store.watch({ prefix, afterRevision, signal })
  watch.requestProgress()
  for await (const batch of watch) {
    const due = batch.events.filter(event => event.revision <= untilRevision)
    const unknown = new Set(due.map(({ key }) => key).filter(key => !known.has(key)))
    await Promise.all(
      [...unknown].map(async key => {
        const entry = await store.get(key, { revision: afterRevision })
        known.set(key, entry && new StoredObject(entry))
      }),
    )
    const events = due.map(event => {
      const { key, revision, note } = event
      const previous = known.get(key)
      const current =
        event.type === 'put' ? new StoredObject({ key, revision, value: event.value }) : undefined
      known.set(key, current)
      return new CacheEvent({ revision, key, current, previous, note })
    })
    if (events.length > 0) yield events
    if (batch.revision >= untilRevision) return
  }
}
