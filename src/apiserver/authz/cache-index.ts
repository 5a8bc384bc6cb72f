/**
 * Something made of objects in the cache and kept up with them: made when it is first asked for, changed with
 * every event below its prefixes, and made anew after the cache had to start again.
 */
import type { CacheEvent } from '../registry/cache-event.ts'
import type { ObjectCache } from '../registry/object-cache.ts'
import type { StoredObject } from '../registry/stored-object.ts'

export interface CacheIndexOptions<T> {
  readonly cache: ObjectCache
  /** Of the objects that it is made of. */
  readonly prefixes: readonly string[]
  readonly empty: () => T
  readonly add: (index: T, stored: StoredObject) => void
  /** Takes back what adding the same object did. */
  readonly remove: (index: T, stored: StoredObject) => void
  /** Two versions of an object that add the same; absent when only the index can tell. */
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
    // A cache that has not been filled yet tells nobody when it is: what is made of it must not be kept.
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
