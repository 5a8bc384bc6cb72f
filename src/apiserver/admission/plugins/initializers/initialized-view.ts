/**
 * The watch cache without uninitialized objects, for all readers that did not ask for them. An object appears
 * when its initialization completes: watchers get ADDED for the update that completes it.
 */
import { CacheEvent } from '../../../registry/cache-event.ts'
import type { HistoryPage, ListAtOptions, ReplayOptions } from '../../../registry/history.ts'
import { ListItemsCache } from '../../../registry/list-items-cache.ts'
import type { FieldCondition, FieldValue, IndexedField, IndexRange } from '../../../registry/object-index.ts'
import type { StoredObject } from '../../../registry/stored-object.ts'
import type { Subscriber } from '../../../registry/subscribers.ts'
import type { ObjectCache } from '../../../registry/watch-cache.ts'
import { isUninitialized } from './initialization.ts'

export class InitializedView implements ObjectCache {
  readonly listItems = new ListItemsCache()
  readonly #cache: ObjectCache
  readonly #isHidden = new WeakMap<StoredObject, boolean>()
  /** The events as subscribers see them, so that all share one event and its encodings. */
  readonly #events = new WeakMap<CacheEvent, { readonly visible: CacheEvent | undefined }>()
  /** What is subscribed to the cache in place of each subscriber. */
  readonly #filters = new WeakMap<Subscriber, Subscriber>()

  constructor(cache: ObjectCache) {
    this.#cache = cache
  }

  get revision(): number {
    return this.#cache.revision
  }

  get(key: string): StoredObject | undefined {
    return this.#visibleObject(this.#cache.get(key))
  }

  *list(prefix: string, after?: string): Generator<StoredObject, void, undefined> {
    for (const stored of this.#cache.list(prefix, after)) if (this.#visibleObject(stored)) yield stored
  }

  prepareIndexes(resourcePrefix: string, fields: readonly IndexedField[]): Promise<void> {
    return this.#cache.prepareIndexes(resourcePrefix, fields)
  }

  select(
    resourcePrefix: string,
    conditions: readonly FieldCondition[],
    range: IndexRange,
  ): readonly StoredObject[] | undefined {
    const found = this.#cache.select(resourcePrefix, conditions, range)
    return found?.filter(stored => this.#visibleObject(stored))
  }

  countAfter(prefix: string, after: string): number {
    let count = 0
    for (const _ of this.list(prefix, after)) count++
    return count
  }

  countSubscribers(key: string): number {
    return this.#cache.countSubscribers(key)
  }

  eventsAfter(prefix: string, revision: number): readonly CacheEvent[] | undefined {
    return this.#cache.eventsAfter(prefix, revision)?.flatMap(event => this.#visibleEvent(event) ?? [])
  }

  async *listAt(options: ListAtOptions): AsyncGenerator<HistoryPage, void, undefined> {
    for await (const { objects, remaining } of this.#cache.listAt(options))
      yield { objects: objects.filter(stored => this.#visibleObject(stored)), remaining }
  }

  async *replay(options: ReplayOptions): AsyncGenerator<readonly CacheEvent[], void, undefined> {
    for await (const events of this.#cache.replay(options))
      yield events.flatMap(event => this.#visibleEvent(event) ?? [])
  }

  subscribe(prefix: string, subscriber: Subscriber, indexedField?: FieldValue): void {
    this.#cache.subscribe(prefix, this.#filterFor(subscriber), indexedField)
  }

  unsubscribe(prefix: string, subscriber: Subscriber, indexedField?: FieldValue): void {
    this.#cache.unsubscribe(prefix, this.#filterFor(subscriber), indexedField)
  }

  lastChange(prefix: string): number {
    return this.#cache.lastChange(prefix)
  }

  latestRevision(): Promise<number> {
    return this.#cache.latestRevision()
  }

  waitFor(revision: number, signal?: AbortSignal): Promise<void> {
    return this.#cache.waitFor(revision, signal)
  }

  waitForLatest(signal?: AbortSignal): Promise<void> {
    return this.#cache.waitForLatest(signal)
  }

  noteWrite(stored: Uint8Array, object: StoredObject['object']): void {
    this.#cache.noteWrite(stored, object)
  }

  #filterFor(subscriber: Subscriber): Subscriber {
    const known = this.#filters.get(subscriber)
    if (known) return known
    const filter: Subscriber = {
      onEvents: events => {
        const visible = events.flatMap(event => this.#visibleEvent(event) ?? [])
        if (visible.length > 0) subscriber.onEvents(visible)
      },
      onReset: () => subscriber.onReset(),
    }
    this.#filters.set(subscriber, filter)
    return filter
  }

  #visibleObject(stored: StoredObject | undefined): StoredObject | undefined {
    if (stored === undefined) return undefined
    let isHidden = this.#isHidden.get(stored)
    if (isHidden === undefined) this.#isHidden.set(stored, (isHidden = isUninitialized(stored)))
    return isHidden ? undefined : stored
  }

  /** Undefined if nothing visible changes. */
  #visibleEvent(event: CacheEvent): CacheEvent | undefined {
    const known = this.#events.get(event)
    if (known) return known.visible
    const visible = this.#withoutHidden(event)
    this.#events.set(event, { visible })
    return visible
  }

  #withoutHidden(event: CacheEvent): CacheEvent | undefined {
    const current = this.#visibleObject(event.current)
    const previous = this.#visibleObject(event.previous)
    if (current === event.current && previous === event.previous) return event
    return current || previous
      ? new CacheEvent({ revision: event.revision, key: event.key, current, previous })
      : undefined
  }
}
