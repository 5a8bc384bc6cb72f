/**
 * The store of one process: a history in memory, and a journal behind it that makes it last. Writes that come
 * while the journal is busy go into its next append together (group commit); a write shows, to readers and
 * watchers alike, only once the journal has it.
 */
import { Deque } from '#/base/deque.ts'
import { Heap } from '#/base/heap.ts'
import type { Clock, Platform, Timer } from '#/platform/platform.ts'
import {
  StoreError,
  type Entry,
  type ExpectedRevision,
  type ListOptions,
  type Listing,
  type ReadOptions,
  type Store,
  type UpdateOptions,
  type Watch,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from '../store.ts'
import type { History } from './history.ts'
import { JournalFullError, type Journal } from './journal.ts'
import { isDeletion, toEntry, type ReadValue, type Version } from './version.ts'
import { WatchHub } from './watch-hub.ts'

export interface LocalStoreOptions {
  readonly platform: Platform
  readonly history: History
  /** Without one everything ends with the process. */
  readonly journal?: Journal
  /** Revisions that an earlier life of the store should have forgotten. */
  readonly garbage?: readonly number[]
  /** Bytes of recent values kept in memory beside the journal. */
  readonly cacheBytesMax?: number
}

export class LocalStore implements Store {
  readonly #clock: Clock
  readonly #history: History
  readonly #journal: Journal | undefined
  readonly #hub: WatchHub
  readonly #readValue: ReadValue
  /** The newest version of each key that is written but not yet committed. */
  readonly #pending = new Map<string, Version>()
  #batch: PendingWrite[] = []
  /** The revision of the last write accepted, committed or not. */
  #lastRevision: number
  /** Settles when everything accepted so far is committed. Never rejects. */
  #committing: Promise<void> | undefined
  #trimming: Promise<void> | undefined
  #garbage: readonly number[]
  /** The journal takes one call at a time: compaction waits for its turn between two commits. */
  #journalFree: Promise<void> = Promise.resolve()
  #failure: StoreError | undefined
  readonly #expiries = new Heap<Version>(
    (left, right) => left.expiresMs - right.expiresMs || left.revision - right.revision,
  )
  #expiryTimer: Timer | undefined
  /** What `#expiryTimer` waits for. */
  #expiringNext: Version | undefined
  /** Keys whose time has run out that could not be removed. */
  readonly #overdue: Version[] = []
  #overdueTimer: Timer | undefined
  /** Committed versions whose values are still in memory, oldest first, and the size of those values. */
  readonly #cached = new Deque<Version>()
  #cachedBytes = 0
  readonly #cacheBytesMax: number

  constructor(options: LocalStoreOptions) {
    this.#clock = options.platform.clock
    this.#history = options.history
    this.#journal = options.journal
    this.#garbage = options.garbage ?? []
    this.#cacheBytesMax = options.cacheBytesMax ?? Infinity
    this.#lastRevision = options.history.revision
    this.#readValue = version => options.journal!.readValue(version.revision)
    this.#hub = new WatchHub(options.history, this.#readValue)
  }

  /** Takes up the expiry of keys that have one. */
  protected adoptExpiries(versions: Iterable<Version>): void {
    for (const version of versions) this.#expiries.push(version)
    this.#armExpiry()
  }

  async revision(): Promise<number> {
    this.#assertOpen()
    return this.#history.revision
  }

  async compactedRevision(): Promise<number> {
    this.#assertOpen()
    return this.#history.compacted
  }

  async get(key: string, options: ReadOptions = {}): Promise<Entry | undefined> {
    this.#assertOpen()
    const { revision } = options
    const version = revision === undefined ? this.#history.newest(key) : this.#history.at(key, revision)
    return version && toEntry(version, this.#readValue)
  }

  async list(options: ListOptions): Promise<Listing> {
    this.#assertOpen()
    const { versions, remaining } = this.#history.list(options)
    const entries = versions.map(version => toEntry(version, this.#readValue))
    return { entries, remaining, revision: options.revision ?? this.#history.revision }
  }

  create(key: string, value: Uint8Array, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#write({ key, value, expectedRevision: 0, ttlMs: options.ttlMs })
  }

  update(key: string, value: Uint8Array, options: UpdateOptions): Promise<WriteResult> {
    return this.#write({ key, value, expectedRevision: options.expectedRevision, ttlMs: options.ttlMs })
  }

  delete(key: string, options: ExpectedRevision): Promise<WriteResult> {
    return this.#write({
      key,
      value: undefined,
      expectedRevision: options.expectedRevision,
      ttlMs: undefined,
    })
  }

  watch(options: WatchOptions): Watch {
    return this.#hub.watch(options)
  }

  async compact(revision: number): Promise<void> {
    this.#assertOpen()
    this.#history.compact(revision)
    this.startTrimming()
    await this.#trimming
    this.#assertOpen()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#expiryTimer?.cancel()
    this.#overdueTimer?.cancel()
    await this.#committing
    this.#failure ??= new StoreError('closed', 'the store was closed')
    this.#hub.close()
    await this.#trimming?.catch(() => undefined)
    await this.#journalFree
    await this.#journal?.close()
  }

  /** Forgets what is compacted in the background, a little at a time. What could not be done is left to the next. */
  protected startTrimming(): void {
    this.#trimming ??= this.#trim().finally(() => {
      this.#trimming = undefined
    })
    this.#trimming.catch(() => undefined)
  }

  /** Runs something on the journal between two commits. */
  protected async withJournal<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#journalFree
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#journalFree = promise
    await before
    try {
      return await work()
    } finally {
      resolve()
    }
  }

  #write(write: Write): Promise<WriteResult> {
    if (this.#failure) return Promise.reject(this.#failure)
    if (write.key.length > keyBytesMax || (write.value?.length ?? 0) > valueBytesMax) {
      return Promise.reject(
        new StoreError('too-large', `${write.key.slice(0, 200)}: larger than the store takes`),
      )
    }
    const pending = this.#pending.get(write.key)
    const newest = pending ?? this.#history.newest(write.key)
    const current = newest && !isDeletion(newest) ? newest : undefined
    if ((current?.revision ?? 0) === write.expectedRevision) return this.#accept(write, current)
    if (pending) return this.#retryAfterCommit(write)
    return Promise.resolve({ written: false, current: current && toEntry(current, this.#readValue) })
  }

  /** What stands in the way is not committed itself: nobody may hear of it before it is. */
  async #retryAfterCommit(write: Write): Promise<WriteResult> {
    await this.#committing
    return this.#write(write)
  }

  #accept(write: Write, current: Version | undefined): Promise<WriteResult> {
    const revision = ++this.#lastRevision
    const version: Version = {
      key: write.key,
      revision,
      createRevision: write.value === undefined ? 0 : (current?.createRevision ?? revision),
      value: write.value,
      expiresMs: write.ttlMs === undefined ? 0 : this.#clock.now() + write.ttlMs,
      older: undefined,
    }
    this.#pending.set(write.key, version)
    const { promise, resolve, reject } = Promise.withResolvers<WriteResult>()
    this.#batch.push({ version, resolve, reject })
    this.#committing ??= this.#commitAll()
    return promise
  }

  async #commitAll(): Promise<void> {
    while (this.#batch.length > 0) {
      await this.#clock.turn()
      const writes = this.#batch.splice(0, batchWritesMax)
      const versions = writes.map(write => write.version)
      try {
        if (this.#journal) await this.withJournal(() => this.#journal!.append(versions))
      } catch (cause) {
        if (cause instanceof JournalFullError) {
          this.#refuse(writes, cause)
          continue
        }
        this.#fail(writes, cause)
        break
      }
      this.#commit(versions)
      for (const { resolve, version } of writes) resolve({ written: true, revision: version.revision })
    }
    this.#committing = undefined
  }

  #commit(versions: readonly Version[]): void {
    for (const version of versions) {
      this.#history.append(version)
      if (this.#pending.get(version.key) === version) this.#pending.delete(version.key)
      if (version.expiresMs > 0) this.#expiries.push(version)
    }
    this.#hub.publish(versions)
    this.#armExpiry()
    if (this.#journal) this.#cache(versions)
  }

  /** Nothing was written and nobody has seen it, so it never was; nor was what came since, which may build on it. */
  #refuse(writes: readonly PendingWrite[], cause: JournalFullError): void {
    const refused = [...writes, ...this.#batch]
    this.#batch = []
    this.#pending.clear()
    this.#lastRevision = this.#history.revision
    const error = fullError(cause)
    for (const { reject } of refused) reject(error)
  }

  /**
   * The disk does not take writes any more. What was not acknowledged may or may not be there: only a restart
   * tells.
   */
  #fail(writes: readonly PendingWrite[], cause: unknown): void {
    this.#failure = new StoreError('closed', 'the store failed to write its journal', { cause })
    for (const { reject } of [...writes, ...this.#batch]) reject(this.#failure)
    this.#batch = []
    this.#hub.close()
  }

  #cache(versions: readonly Version[]): void {
    for (const version of versions) {
      if (version.value === undefined) continue
      this.#cached.push(version)
      this.#cachedBytes += version.value.length
    }
    while (this.#cachedBytes > this.#cacheBytesMax) {
      for (const oldest of this.#cached.take(1)) {
        this.#cachedBytes -= oldest.value!.length
        oldest.value = undefined
      }
    }
  }

  async #trim(): Promise<void> {
    while (!this.#failure) {
      const garbage =
        this.#garbage.length > 0 ? this.#garbage.slice(0, trimEventsMax) : this.#history.trim(trimEventsMax)
      if (garbage === undefined) return
      this.#garbage = this.#garbage.slice(trimEventsMax)
      await this.#forget(garbage)
    }
  }

  async #forget(garbage: readonly number[]): Promise<void> {
    const { compacted } = this.#history
    try {
      if (this.#journal) await this.withJournal(() => this.#journal!.forget(compacted, garbage))
      else await this.#clock.turn()
    } catch (error) {
      if (!(error instanceof JournalFullError)) throw error
      this.#garbage = [...garbage, ...this.#garbage]
      throw fullError(error)
    }
  }

  #armExpiry(): void {
    const next = this.#expiries.peek()
    if (next === this.#expiringNext) return
    this.#expiringNext = next
    this.#expiryTimer?.cancel()
    if (next === undefined || this.#failure) return
    const delayMs = Math.min(Math.max(0, next.expiresMs - this.#clock.now()), expiryDelayMsMax)
    this.#expiryTimer = this.#clock.setTimer(delayMs, () => this.#expire())
  }

  #expire(): void {
    this.#expiringNext = undefined
    const now = this.#clock.now()
    for (
      let due = this.#expiries.peek();
      due !== undefined && due.expiresMs <= now;
      due = this.#expiries.peek()
    ) {
      this.#expiries.pop()
      // A key that was written again since has a later entry of its own, or stays.
      if (this.#history.newest(due.key) !== due) continue
      this.delete(due.key, { expectedRevision: due.revision }).catch(() => this.#expireLater(due))
    }
    this.#armExpiry()
  }

  /** There was no room to write it down. */
  #expireLater(due: Version): void {
    if (this.#failure) return
    this.#overdue.push(due)
    this.#overdueTimer ??= this.#clock.setTimer(expiryRetryMs, () => {
      this.#overdueTimer = undefined
      this.adoptExpiries(this.#overdue.splice(0))
    })
  }

  #assertOpen(): void {
    if (this.#failure) throw this.#failure
  }
}

/** Writes in one append: keeps the pause that a reader of the disk may see short. */
const batchWritesMax = 1_000

/** Events forgotten in one step of compaction; writes get their turn between two steps. */
const trimEventsMax = 250

/** The API server takes bodies of up to 3 MiB; what is stored is never much larger. */
const valueBytesMax = 4 * 1024 * 1024

const keyBytesMax = 4_096

/** There may be room again. */
const expiryRetryMs = 2_000

/** The longest time a timer can be set for. */
const expiryDelayMsMax = 2 ** 31 - 1

function fullError(cause: JournalFullError): StoreError {
  return new StoreError('full', 'there is no room left on the disk of the store', { cause })
}

interface Write {
  readonly key: string
  readonly value: Uint8Array | undefined
  /** 0 for a key that must not exist. */
  readonly expectedRevision: number
  readonly ttlMs: number | undefined
}

interface PendingWrite {
  readonly version: Version
  readonly resolve: (result: WriteResult) => void
  readonly reject: (error: StoreError) => void
}
