/**
 * The watch cache: every object of the cluster in memory, fed by one watch of the store. All reads and
 * watches are served from it. A consistent read waits until the cache has reached the store's revision.
 */
import { Queue } from '#/base/queue.ts'
import { forEachPrefix, prefixEnd } from '#/base/key-path.ts'
import { SortedMap } from '#/base/sorted-map.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Platform } from '#/platform/platform.ts'
import { StoreError, type Entry, type Store, type StoreEvent, type Watch } from '#/store/store.ts'
import type { Metrics } from '../metrics.ts'
import { CacheEvent } from './cache-event.ts'
import { DecodedObjects } from './decoded-objects.ts'
import { listAt, replay, type HistoryPage, type ListAtOptions, type ReplayOptions } from './history.ts'
import { ListItemsCache } from './list-items-cache.ts'
import type { FieldCondition, FieldValue, IndexedField, IndexRange } from './object-index.ts'
import { ObjectIndexes } from './object-indexes.ts'
import { StoredObject } from './stored-object.ts'
import { Subscribers, type Subscriber } from './subscribers.ts'

/** The interface of readers and writers; what only the owner of the cache may call is missing. */
export type ObjectCache = Pick<
  WatchCache,
  | 'countAfter'
  | 'countSubscribers'
  | 'eventsAfter'
  | 'get'
  | 'lastChange'
  | 'latestRevision'
  | 'list'
  | 'listAt'
  | 'listItems'
  | 'noteWrite'
  | 'prepareIndexes'
  | 'replay'
  | 'revision'
  | 'select'
  | 'subscribe'
  | 'unsubscribe'
  | 'waitFor'
  | 'waitForLatest'
>

export interface WatchCacheOptions {
  readonly store: Store
  readonly platform: Platform
  /** Store prefix of everything cached. */
  readonly prefix: string
  /** Bound on decoded objects, as the size of their stored form. */
  readonly decodedBytesMax?: number
  readonly metrics?: Metrics | undefined
  readonly recorder?: ChangeRecorder | undefined
}

/** Is told every change that the cache takes from the store, before readers see it. */
export interface ChangeRecorder {
  /** The cache was loaded at a revision: at the start, and after a gap in the watch of the store. */
  onLoad(revision: number): void
  /** The changes up to a revision; there may be none. */
  onChanges(events: readonly CacheEvent[], revision: number): void
}

export class WatchCache {
  readonly #options: WatchCacheOptions
  readonly #objects = new SortedMap<StoredObject>()
  readonly #subscribers = new Map<string, Subscribers>()
  /** Indexes by prefix of the resource, which ends with a slash. */
  readonly #indexes = new Map<string, ObjectIndexes>()
  /** The event window, oldest first, without gaps: every event after `#recentSince`. */
  readonly #recent = new Queue<CacheEvent>()
  #recentSince = 0
  /** Total size of the objects in `#recent`. */
  #recentBytes = 0
  /**
   * The latest batches of `#recent` that still hold decoded objects and encodings, with their expiry; older
   * events keep only the stored bytes.
   */
  readonly #wholeBatches = new Queue<WholeBatch>()
  #wholeEvents = 0
  #revision = 0
  /** Revision of the last change under each prefix since the cache was loaded. */
  readonly #lastChanges = new Map<string, number>()
  #loadedRevision = 0
  #watch: Watch | undefined
  #waiting: { readonly revision: number; readonly resolve: () => void }[] = []
  /** Objects written by this process, by the bytes passed to the store, so that they need not be parsed. */
  readonly #written = new WeakMap<Uint8Array, KubernetesObject>()
  #latest: Promise<number> | undefined

  readonly #decodedObjects: DecodedObjects

  constructor(options: WatchCacheOptions) {
    this.#options = options
    this.#decodedObjects = new DecodedObjects(options.decodedBytesMax ?? Infinity)
  }

  /** Cache of encoded lists. */
  readonly listItems = new ListItemsCache()

  /** The cache reflects the store up to this revision. */
  get revision(): number {
    return this.#revision
  }

  /** Loads the cache, then follows the store until aborted. `onReady` is called when the cache is loaded. */
  async run(signal: AbortSignal, onReady: () => void): Promise<void> {
    const { store, platform, prefix } = this.#options
    try {
      await this.#load()
    } catch (error) {
      // The store may be temporarily unavailable, e.g. while etcd elects a leader.
      if (!(error instanceof StoreError) || error.reason === 'closed') throw error
      platform.log.warn('failed to list the store, retrying', { error })
      await this.#reload(signal)
    }
    onReady()
    while (!signal.aborted) {
      this.#watch = store.watch({ prefix, afterRevision: this.#revision, signal })
      try {
        for await (const batch of this.#watch) this.#take(batch.events, batch.revision)
      } catch (error) {
        if (!(error instanceof StoreError) || error.reason === 'closed') throw error
        platform.log.warn('watch of the store ended, relisting', { error })
        await this.#reload(signal)
      }
    }
  }

  get(key: string): StoredObject | undefined {
    return this.#objects.get(key)
  }

  /** Objects under a prefix in key order, starting after the key `after`. */
  *list(prefix: string, after?: string): Generator<StoredObject, void, undefined> {
    const end = prefixEnd(prefix)
    for (const object of this.#objects.valuesFrom(after === undefined ? prefix : `${after}\0`)) {
      if (object.key >= end) return
      yield object
    }
  }

  /** Makes `select` use indexes of these fields. */
  async prepareIndexes(resourcePrefix: string, fields: readonly IndexedField[]): Promise<void> {
    const indexes = this.#indexes.getOrInsertComputed(resourcePrefix, () => {
      return new ObjectIndexes({
        clock: this.#options.platform.clock,
        objects: () => [...this.list(resourcePrefix)],
        count: () => this.countAfter(resourcePrefix, resourcePrefix),
        isCurrent: stored => this.#objects.get(stored.key) === stored,
      })
    })
    await indexes.prepare(fields)
  }

  /**
   * Objects in a range in key order, of which those that fulfil all conditions are not missing. Undefined if no index
   * reduces their number.
   */
  select(
    resourcePrefix: string,
    conditions: readonly FieldCondition[],
    range: IndexRange,
  ): readonly StoredObject[] | undefined {
    return this.#indexes.get(resourcePrefix)?.select(conditions, range)
  }

  /** Estimates the size of the objects under a prefix by the first ones. */
  sizeBytes(prefix: string): number {
    let [sizeBytes, count] = [0, 0]
    for (const object of this.list(prefix)) {
      sizeBytes += object.sizeBytes
      if (++count === sizedMax) break
    }
    return count === 0 ? 0 : Math.round((sizeBytes / count) * this.countAfter(prefix, prefix))
  }

  /** Number of objects under a prefix with keys greater than `after`. */
  countAfter(prefix: string, after: string): number {
    return this.#objects.rank(prefixEnd(prefix)) - this.#objects.rank(`${after}\0`)
  }

  /** The store's current revision, which includes every write completed before the call. */
  latestRevision(): Promise<number> {
    // Calls in the same tick share one request to the store.
    this.#latest ??= Promise.resolve().then(() => {
      this.#latest = undefined
      return this.#options.store.revision()
    })
    return this.#latest
  }

  /** Resolves when the cache contains every write completed before the call. */
  async waitForLatest(signal?: AbortSignal): Promise<void> {
    await this.waitFor(await this.latestRevision(), signal)
  }

  /**
   * Revision of the last change under a prefix that ends with a slash; the revision of the initial load if
   * there was none.
   */
  lastChange(prefix: string): number {
    return this.#lastChanges.get(prefix) ?? this.#loadedRevision
  }

  async waitFor(revision: number, signal?: AbortSignal): Promise<void> {
    if (this.#revision >= revision) return
    this.#watch?.requestProgress()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter = { revision, resolve }
    this.#waiting.push(waiter)
    const abort = (): void => {
      this.#waiting = this.#waiting.filter(each => each !== waiter)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', abort, { once: true })
    await promise.finally(() => signal?.removeEventListener('abort', abort))
  }

  /** Registers the object for bytes about to be passed to the store. */
  noteWrite(stored: Uint8Array, object: KubernetesObject): void {
    this.#written.set(stored, object)
  }

  /**
   * Subscribes to all events under the prefix, which ends with `/` or is a single key. With `indexedField`, events
   * of objects that neither have nor had that field value may be omitted.
   */
  subscribe(prefix: string, subscriber: Subscriber, indexedField?: FieldValue): void {
    const subscribers = this.#subscribers.get(prefix) ?? new Subscribers()
    this.#subscribers.set(prefix, subscribers)
    subscribers.add(subscriber, indexedField)
  }

  /** The subscribers of everything that includes the key, also those of single field values. */
  countSubscribers(key: string): number {
    let count = this.#subscribers.get(key)?.size ?? 0
    forEachPrefix(key, prefix => {
      count += this.#subscribers.get(prefix)?.size ?? 0
    })
    return count
  }

  unsubscribe(prefix: string, subscriber: Subscriber, indexedField?: FieldValue): void {
    const subscribers = this.#subscribers.get(prefix)
    subscribers?.delete(subscriber, indexedField)
    if (subscribers?.isEmpty) this.#subscribers.delete(prefix)
  }

  /** Events under a prefix after a revision; undefined if they are older than the event window. */
  eventsAfter(prefix: string, revision: number): readonly CacheEvent[] | undefined {
    if (revision < this.#recentSince) return undefined
    const isWithin = prefix.endsWith('/')
      ? (key: string): boolean => key.startsWith(prefix)
      : (key: string): boolean => key === prefix
    const events: CacheEvent[] = []
    for (let index = this.#recent.length - 1; index >= 0; index--) {
      const event = this.#recent.at(index)!
      if (event.revision <= revision) break
      if (isWithin(event.key)) events.push(event)
    }
    return events.reverse()
  }

  /** Pages of the objects under a prefix at an older revision. Rejects with StoreError if it is compacted. */
  listAt(options: ListAtOptions): AsyncGenerator<HistoryPage, void, undefined> {
    return listAt(this.#options.store, options)
  }

  /** Events older than the event window. Rejects with StoreError if they are compacted. */
  replay(options: ReplayOptions): AsyncGenerator<readonly CacheEvent[], void, undefined> {
    return replay(this.#options.store, options)
  }

  async #load(): Promise<void> {
    const { store, prefix } = this.#options
    let page = await store.list({ prefix, limit: pageKeys })
    const { revision } = page
    for (;;) {
      for (const entry of page.entries) this.#objects.set(entry.key, this.#decode(entry))
      if (page.remaining === 0) break
      page = await store.list({ prefix, limit: pageKeys, revision, after: page.entries.at(-1)!.key })
    }
    this.#options.recorder?.onLoad(revision)
    this.#advance(revision)
    this.#recentSince = revision
    this.#loadedRevision = revision
    this.#recordLoad()
  }

  /** The cache is loaded with all resources at once. */
  #recordLoad(): void {
    const { watchCache } = this.#options.metrics ?? {}
    if (watchCache === undefined) return
    const series = new Set([...this.#objects.valuesFrom('')].map(({ key }) => watchCache.changes.of(key)))
    for (const { initializations } of series) initializations.add()
  }

  /**
   * Relists after a gap in the watch: updates the objects and resets all subscribers, because they may have
   * missed events.
   */
  async #reload(signal: AbortSignal): Promise<void> {
    const { store, prefix, platform } = this.#options
    while (!signal.aborted) {
      try {
        const { entries, revision } = await store.list({ prefix })
        const gone = new Set([...this.#objects.valuesFrom('')].map(object => object.key))
        for (const entry of entries) {
          gone.delete(entry.key)
          if (this.#objects.get(entry.key)?.revision !== entry.revision)
            this.#objects.set(entry.key, this.#decode(entry))
        }
        for (const key of gone) this.#objects.delete(key)
        this.#indexes.clear()
        this.#recent.take(this.#recent.length)
        this.#recentBytes = 0
        this.#recentSince = revision
        this.#loadedRevision = revision
        this.#lastChanges.clear()
        for (const subscriber of [...this.#subscribers.values()].flatMap(each => each.all()))
          subscriber.onReset()
        this.#options.recorder?.onLoad(revision)
        this.#advance(revision)
        this.#recordLoad()
        return
      } catch (error) {
        if (error instanceof StoreError && error.reason === 'closed') throw error
        platform.log.warn('failed to list the store, retrying', { error })
        await platform.clock.sleep(reloadDelayMs, signal)
      }
    }
  }

  #take(storeEvents: readonly StoreEvent[], revision: number): void {
    const bySubscriber = new Map<Subscriber, CacheEvent[]>()
    const { metrics, recorder } = this.#options
    const changes = metrics?.watchCache.changes
    const events: CacheEvent[] = []
    for (const storeEvent of storeEvents) {
      const event = this.#apply(storeEvent)
      events.push(event)
      const series = changes?.of(event.key)
      if (series) {
        series.received.add()
        series.storeEvents.add()
        series.dispatched.add()
        series.revision.value = event.revision
      }
      this.#recent.push(event)
      this.#recentBytes += event.sizeBytes
      this.#forSubscribers(event, subscriber => {
        const unsent = bySubscriber.get(subscriber)
        if (unsent) unsent.push(event)
        else bySubscriber.set(subscriber, [event])
      })
    }
    recorder?.onChanges(events, revision)
    this.#forgetOldest(recentEventsMax)
    // Advances the revision first, so that a subscriber that reads the cache sees the change.
    this.#advance(revision)
    for (const [subscriber, unsent] of bySubscriber) subscriber.onEvents(unsent)
    this.#releaseOldDecoded(storeEvents.length)
  }

  /**
   * Drops decoded forms of older events, which watchers have usually consumed; later readers decode the bytes
   * again.
   */
  #releaseOldDecoded(newEvents: number): void {
    const nowMs = this.#options.platform.clock.monotonicMs()
    this.#wholeBatches.push({ count: newEvents, untilMs: nowMs + wholeMs })
    this.#wholeEvents += newEvents
    this.#releaseEvents(({ untilMs }) => untilMs <= nowMs)
  }

  #releaseEvents(isOver: (batch: WholeBatch) => boolean): void {
    for (let oldest = this.#wholeBatches.at(0); oldest && isOver(oldest);) {
      for (let count = 0; count < oldest.count; count++) {
        // The window may have forgotten the event already.
        const index = this.#recent.length - this.#wholeEvents
        if (index >= 0) this.#recent.at(index)?.releaseDecoded()
        this.#wholeEvents--
      }
      this.#wholeBatches.take(1)
      oldest = this.#wholeBatches.at(0)
    }
  }

  #forgetOldest(eventsMax: number): void {
    const recent = this.#recent
    while (recent.length > eventsMax || (this.#recentBytes > recentBytesMax && recent.length > 0)) {
      const [event] = recent.take(1) as [CacheEvent]
      this.#recentSince = event.revision
      this.#recentBytes -= event.sizeBytes
      // A list that is being sent, or a deletion of many objects, may still hold the objects.
      event.releaseDecoded()
    }
  }

  #apply(event: StoreEvent): CacheEvent {
    const previous = this.#objects.get(event.key)
    const { key, revision, note } = event
    if (previous) this.#decodedObjects.delete(previous)
    if (event.type === 'delete') {
      this.#objects.delete(key)
      return new CacheEvent({ revision, key, current: undefined, previous, note })
    }
    const current = this.#decode(event)
    this.#objects.set(key, current)
    return new CacheEvent({ revision, key, current, previous, note })
  }

  /**
   * Returns memory: objects are decoded again when they are used, unless others in this process hold them, and watches
   * from older revisions read the store.
   */
  release(): void {
    this.#decodedObjects.releaseAll()
    this.#releaseEvents(() => true)
    this.#forgetOldest(releasedEventsMax)
  }

  #decode(entry: Entry): StoredObject {
    const written = this.#written.get(entry.value)
    // Otherwise the bytes would keep the object.
    this.#written.delete(entry.value)
    return new StoredObject(entry, written, this.#decodedObjects)
  }

  /** Records the change under every prefix of the key, and visits the indexes and subscribers of each. */
  #forSubscribers(event: CacheEvent, visit: (subscriber: Subscriber) => void): void {
    const { key, revision } = event
    forEachPrefix(key, prefix => {
      this.#lastChanges.set(prefix, revision)
      this.#indexes.get(prefix)?.change(event.previous, event.current)
      this.#subscribers.get(prefix)?.forEach(event, visit)
    })
    if (!key.endsWith('/')) this.#subscribers.get(key)?.forEach(event, visit)
  }

  #advance(revision: number): void {
    this.#revision = revision
    if (this.#waiting.length === 0) return
    const due = this.#waiting.filter(waiter => waiter.revision <= revision)
    this.#waiting = this.#waiting.filter(waiter => waiter.revision > revision)
    for (const waiter of due) waiter.resolve()
  }
}

/** Events that hold decoded objects and encodings. */
interface WholeBatch {
  readonly count: number
  readonly untilMs: number
}

/** Page size for loading the cache. */
const pageKeys = 1_000

/** Size of the event window; watches from older revisions read the store. */
const recentEventsMax = 20_000

/** Size of the event window after a load has ended. */
const releasedEventsMax = 1_000

/** Time for which events keep decoded objects and encodings. */
const wholeMs = 1_000

/**
 * Bound on the stored bytes of the event window; the memory in use is several times larger, because decoded
 * objects and encodings may be kept too.
 */
const recentBytesMax = 32 * 1024 * 1024

/** Number of objects from which the size of all is estimated. */
const sizedMax = 100

const reloadDelayMs = 500
