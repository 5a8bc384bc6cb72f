/**
 * An index over cached objects: built on first use, updated incrementally with watch events, and rebuilt
 * after a cache reset.
 */
import type { CacheEvent } from '../registry/cache-event.ts'
import type { ObjectCache } from '../registry/watch-cache.ts'
import type { StoredObject } from '../registry/stored-object.ts'

export interface CacheIndexOptions<T> {
  readonly cache: ObjectCache
  /** Key prefixes of the indexed objects. */
  readonly prefixes: readonly string[]
  readonly empty: () => T
  readonly add: (index: T, stored: StoredObject) => void
  /** Reverts `add` of the same object. */
  readonly remove: (index: T, stored: StoredObject) => void
  /** True if two versions of an object have the same index entries, so the update is skipped; optional. */
  readonly isSame?: (before: StoredObject, after: StoredObject) => boolean
}

export class CacheIndex<T> {
  readonly #options: CacheIndexOptions<T>
  #value: T | undefined
  #isSubscribed = false

  constructor(options: CacheIndexOptions<T>) {
    this.#options = options
  }

  get current(): T {
    if (this.#value !== undefined) return this.#value
    const { cache, prefixes, empty, add } = this.#options
    const made = empty()
    for (const prefix of prefixes) for (const stored of cache.list(prefix)) add(made, stored)
    // Before its initial list the cache sends no reset event, so an index built now must not be kept.
    if (cache.revision === 0) return made
    this.#subscribe()
    this.#value = made
    return made
  }

  #subscribe(): void {
    if (this.#isSubscribed) return
    this.#isSubscribed = true
    const onReset = (): void => {
      this.#value = undefined
    }
    const subscriber = { onEvents: (events: readonly CacheEvent[]) => this.#take(events), onReset }
    for (const prefix of this.#options.prefixes) this.#options.cache.subscribe(prefix, subscriber)
  }

  #take(events: readonly CacheEvent[]): void {
    if (this.#value === undefined) return
    const { add, remove, isSame } = this.#options
    for (const { previous, current } of events) {
      if (previous && current && isSame?.(previous, current)) continue
      if (previous) remove(this.#value, previous)
      if (current) add(this.#value, current)
    }
  }
}
