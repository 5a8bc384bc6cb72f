/**
 * The store of one process: a history in memory and a journal for durability. Writes that arrive while the
 * journal is busy are appended together (group commit); a write becomes visible to readers and watchers only
 * after the journal has it.
 */
import { Heap } from '#/base/heap.ts'
import type { Clock, Platform, Timer } from '#/platform/platform.ts'
import { Alarms } from '../alarms.ts'
import {
  assertNote,
  StoreError,
  type DeleteOptions,
  type Entry,
  type ListOptions,
  type Listing,
  type ReadOptions,
  type Store,
  type StoreAlarms,
  type UpdateOptions,
  type Watch,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from '../store.ts'
import type { History } from './history.ts'
import { JournalFullError, type Journal } from './journal.ts'
import { toEntry, type ReadContent, type Version } from './version.ts'
import { ValueCache } from './value-cache.ts'
import { WatchHub } from './watch-hub.ts'

export interface LocalStoreOptions {
  readonly platform: Platform
  readonly history: History
  /** Without one nothing is persisted. */
  readonly journal?: Journal
  /** Size of the cache of recent values; only with a journal. */
  readonly cacheBytesMax?: number
  /** Raised by the journal and by `space`. */
  readonly alarms?: StoreAlarms
  /** Unlimited when absent. */
  readonly space?: WriteSpace
}

/** Decides if there is space for a write. */
export interface WriteSpace {
  admits(sizeBytes: number): boolean
  /** Called when a write was not admitted: looks again, between two commits. */
  recheck(sizeBytes: number): Promise<boolean>
  /** The journal had no space for a write that was admitted. */
  noteFull(): void
  /** Called with versions that are in the history now. */
  committed?(versions: readonly Version[]): void
  /** Called with versions that are not in the history any more. */
  discarded?(versions: readonly Version[]): void
}

export class LocalStore implements Store {
  readonly alarms: StoreAlarms
  readonly #clock: Clock
  readonly #history: History
  readonly #journal: Journal | undefined
  readonly #hub: WatchHub
  readonly #readContent: ReadContent
  readonly #space: WriteSpace | undefined
  /** The newest version of each key with uncommitted writes. */
  readonly #pending = new Map<string, Version>()
  #batch: PendingWrite[] = []
  /** Size of the writes accepted and not committed. */
  #pendingBytes = 0
  /** The revision of the last write accepted, committed or not. */
  #lastRevision: number
  /** Settles when all accepted writes are committed. Never rejects. */
  #committing: Promise<void> | undefined
  #trimming: Promise<void> | undefined
  /** Settles when all committed writes are acknowledged. Never rejects. */
  #acknowledging: Promise<void> | undefined
  /** The compacted revision that is durable. */
  #recorded: number
  /** Serializes calls to the journal: compaction runs between two commits. */
  #journalFree: Promise<void> = Promise.resolve()
  #failure: StoreError | undefined
  readonly #expiries = new Heap<Version>(
    (left, right) => left.expiresMs - right.expiresMs || left.revision - right.revision,
  )
  #expiryTimer: Timer | undefined
  /** The version that `#expiryTimer` waits for. */
  #expiringNext: Version | undefined
  /** Expired keys that could not be deleted. */
  readonly #overdue: Version[] = []
  #overdueTimer: Timer | undefined
  /** Undefined without a journal, from which other values are read. */
  readonly #recentValues: ValueCache | undefined

  constructor(options: LocalStoreOptions) {
    this.#clock = options.platform.clock
    this.#history = options.history
    this.#journal = options.journal
    this.#space = options.space
    this.alarms = options.alarms ?? new Alarms(options.platform)
    const { cacheBytesMax: sizeBytesMax = Infinity } = options
    if (options.journal) this.#recentValues = new ValueCache({ clock: this.#clock, sizeBytesMax })
    this.#lastRevision = options.history.revision
    this.#recorded = options.history.compacted
    this.#readContent = version => options.journal?.readContent(version) ?? noContent
    this.#hub = new WatchHub(options.history, this.#readContent)
  }

  /** Schedules the expiry of loaded versions. */
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
    return version && toEntry(version, this.#readContent)
  }

  async list(options: ListOptions): Promise<Listing> {
    this.#assertOpen()
    const { versions, remaining } = this.#history.list(options)
    const entries = versions.map(version => toEntry(version, this.#readContent))
    return { entries, remaining, revision: options.revision ?? this.#history.revision }
  }

  create(key: string, value: Uint8Array, options: WriteOptions = {}): Promise<WriteResult> {
    return this.#write({ key, value, expectedRevision: 0, ...options })
  }

  update(key: string, value: Uint8Array, options: UpdateOptions): Promise<WriteResult> {
    return this.#write({ key, value, ...options })
  }

  delete(key: string, options: DeleteOptions): Promise<WriteResult> {
    return this.#write({ key, value: undefined, ...options })
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
    await this.#acknowledging
    this.#recentValues?.[Symbol.dispose]()
    this.#failure ??= new StoreError('closed', 'the store was closed')
    this.#hub.close()
    await this.#trimming?.catch(() => undefined)
    await this.#journalFree
    await this.#journal?.close()
  }

  /** Frees compacted versions in the background, in small steps. After an error, the next call continues. */
  protected startTrimming(): void {
    this.#trimming ??= this.#trim().finally(() => {
      this.#trimming = undefined
    })
    this.#trimming.catch(() => undefined)
  }

  /** Runs an operation on the journal between two commits. */
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
    if (write.note) assertNote(write.note)
    if (write.key.length > keyBytesMax || (write.value?.length ?? 0) > valueBytesMax) {
      return Promise.reject(
        new StoreError('too-large', `${write.key.slice(0, 200)} exceeds the size limit of the store`),
      )
    }
    if (!this.#hasSpace(write)) return this.#writeIfFreed(write)
    return this.#writeExpected(write)
  }

  #hasSpace(write: Write): boolean {
    if (this.#space === undefined || write.value === undefined || write.ignoresQuota) return true
    return this.#space.admits(this.#pendingBytes + sizeOf(write))
  }

  async #writeIfFreed(write: Write): Promise<WriteResult> {
    const isFreed = await this.withJournal(() => this.#space!.recheck(this.#pendingBytes + sizeOf(write)))
    this.#assertOpen()
    if (!isFreed) throw fullError()
    return this.#writeExpected(write)
  }

  #writeExpected(write: Write): Promise<WriteResult> {
    const pending = this.#pending.get(write.key)
    const newest = pending ?? this.#history.newest(write.key)
    const current = newest && !newest.isDeletion ? newest : undefined
    if ((current?.revision ?? 0) === write.expectedRevision) return this.#accept(write, current)
    if (pending) return this.#retryAfterCommit(write)
    return this.#lostRace(current)
  }

  async #lostRace(current: Version | undefined): Promise<WriteResult> {
    return { written: false, current: current && toEntry(current, this.#readContent) }
  }

  /** The conflicting version is uncommitted and must not be returned yet. */
  async #retryAfterCommit(write: Write): Promise<WriteResult> {
    await this.#committing
    return this.#write(write)
  }

  #accept(write: Write, current: Version | undefined): Promise<WriteResult> {
    const revision = ++this.#lastRevision
    const version: Version = {
      key: write.key,
      revision,
      createRevision: current?.createRevision ?? revision,
      isDeletion: write.value === undefined,
      value: write.value,
      note: write.note,
      expiresMs: write.ttlMs === undefined ? 0 : this.#clock.now() + write.ttlMs,
      older: undefined,
      location: 0,
      sizeBytes: 0,
    }
    this.#pending.set(write.key, version)
    this.#pendingBytes += sizeOf(version)
    const { promise, resolve, reject } = Promise.withResolvers<WriteResult>()
    this.#batch.push({ version, resolve, reject })
    this.#committing ??= this.#commitAll()
    return promise
  }

  async #commitAll(): Promise<void> {
    while (this.#batch.length > 0) {
      await this.#clock.turn()
      const writes = this.#batch.splice(0, batchSize(this.#batch))
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
      this.#acknowledging = this.#acknowledge(writes, this.#acknowledging)
    }
    this.#committing = undefined
  }

  /**
   * In slices, while the next writes are appended: the acknowledgement of hundreds of concurrent requests continues all
   * of them, which would block the event loop.
   */
  async #acknowledge(writes: readonly PendingWrite[], earlier: Promise<void> | undefined): Promise<void> {
    await earlier
    let turnedMs = this.#clock.monotonicMs()
    for (const { resolve, version } of writes) {
      resolve({ written: true, revision: version.revision })
      // The request continues before the time is read.
      await Promise.resolve()
      if (this.#clock.monotonicMs() - turnedMs < acknowledgeMs) continue
      await this.#clock.turn()
      turnedMs = this.#clock.monotonicMs()
    }
  }

  #commit(versions: readonly Version[]): void {
    for (const version of versions) {
      this.#history.append(version)
      if (this.#pending.get(version.key) === version) this.#pending.delete(version.key)
      this.#pendingBytes -= sizeOf(version)
      if (version.expiresMs > 0) this.#expiries.push(version)
    }
    this.#space?.committed?.(versions)
    this.#hub.publish(versions)
    this.#armExpiry()
    this.#recentValues?.add(versions)
  }

  /**
   * Nothing was written or became visible. Writes queued since then are rejected too, since they may depend
   * on it.
   */
  #refuse(writes: readonly PendingWrite[], cause: JournalFullError): void {
    const refused = [...writes, ...this.#batch]
    this.#batch = []
    this.#pending.clear()
    this.#pendingBytes = 0
    this.#lastRevision = this.#history.revision
    this.#space?.noteFull()
    const error = fullError(cause)
    for (const { reject } of refused) reject(error)
  }

  /**
   * The journal has failed permanently. Unacknowledged writes may or may not be on disk, which only a restart
   * shows.
   */
  #fail(writes: readonly PendingWrite[], cause: unknown): void {
    this.#failure = new StoreError('closed', 'the store failed to write its journal', { cause })
    for (const { reject } of [...writes, ...this.#batch]) reject(this.#failure)
    this.#batch = []
    this.#hub.close()
  }

  /** A version is freed only when the compaction that excludes it is durable. */
  async #trim(): Promise<void> {
    while (!this.#failure) {
      const { compacted } = this.#history
      if (compacted > this.#recorded) await this.#recordCompaction(compacted)
      const garbage = this.#history.trim(compacted, trimEventsMax)
      if (garbage === undefined) return
      this.#journal?.discard(garbage)
      this.#space?.discarded?.(garbage)
      await this.#clock.turn()
    }
  }

  async #recordCompaction(revision: number): Promise<void> {
    try {
      if (this.#journal) await this.withJournal(() => this.#journal!.compact(revision))
    } catch (error) {
      if (error instanceof JournalFullError) throw fullError(error)
      this.#fail([], error)
      throw this.#failure!
    }
    this.#recorded = revision
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
      // The key was overwritten; its new version has its own expiry, if any.
      if (this.#history.newest(due.key) !== due) continue
      this.delete(due.key, { expectedRevision: due.revision }).catch(() => this.#expireLater(due))
    }
    this.#armExpiry()
  }

  /** The disk is full: the deletion is retried later. */
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

/** The number of writes that are appended together. */
function batchSize(batch: readonly PendingWrite[]): number {
  let bytes = 0
  let count = 0
  while (count < batch.length && count < batchWritesMax && bytes < batchBytesMax)
    bytes += sizeOf(batch[count++]!.version)
  return count
}

/** Bounds of one append, and so of the latency of disk operations. */
const batchWritesMax = 1_000
const batchBytesMax = 4 * 1024 * 1024

/** Time after which acknowledgements yield to the event loop. */
const acknowledgeMs = 4

/** Maximum number of events freed in one step of compaction; writes are committed between steps. */
const trimEventsMax = 250

/** The API server accepts bodies of up to 3 MiB; stored objects are not much larger. */
const valueBytesMax = 4 * 1024 * 1024

const keyBytesMax = 4_096

/** Retry interval while the disk is full. */
const expiryRetryMs = 2_000

/** Maximum delay of a timer. */
const expiryDelayMsMax = 2 ** 31 - 1

/** `cause` is absent when the write was not tried. */
function fullError(cause?: JournalFullError): StoreError {
  return new StoreError('full', 'no space left in the store', { cause })
}

/** About the size of its record. */
function sizeOf({ key, value, note }: Pick<Write, 'key' | 'value' | 'note'>): number {
  return key.length + (value?.length ?? 0) + (note?.length ?? 0)
}

const noContent = { value: undefined, note: undefined }

interface Write {
  readonly key: string
  readonly value: Uint8Array | undefined
  /** 0 means that the key must not exist. */
  readonly expectedRevision: number
  readonly note?: Uint8Array | undefined
  readonly ttlMs?: number
  readonly ignoresQuota?: boolean
}

interface PendingWrite {
  readonly version: Version
  readonly resolve: (result: WriteResult) => void
  readonly reject: (error: StoreError) => void
}
