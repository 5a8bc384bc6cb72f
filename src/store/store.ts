/**
 * A revisioned key-value log: the part of etcd that Kubernetes needs, and no more. Every successful write
 * gets the next revision of the whole store. Only the API server uses a `Store`. The three implementations
 * (`memory`, `embedded`, `etcd`) pass one conformance suite, `store.conformance.ts`, which is the contract in
 * detail.
 */
import { assert } from '#/base/assert.ts'

export interface Store extends AsyncDisposable {
  /**
   * The revision of the last write in the store; every write acknowledged before the call is at or below it.
   */
  revision(): Promise<number>
  get(key: string, options?: ReadOptions): Promise<Entry | undefined>
  list(options: ListOptions): Promise<Listing>
  /** Writes only if the key does not exist. */
  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<WriteResult>
  /** Writes only if the key exists at exactly this revision. */
  update(key: string, value: Uint8Array, options: UpdateOptions): Promise<WriteResult>
  /** Deletes the key only if it exists at exactly this revision. The deletion has its own revision. */
  delete(key: string, options: DeleteOptions): Promise<WriteResult>
  watch(options: WatchOptions): Watch
  /**
   * Discards versions overwritten or deleted at or before the revision, but never those still current at it.
   */
  compact(revision: number): Promise<void>
  /** States before this revision can no longer be read or watched from. Initially 0. */
  compactedRevision(): Promise<number>
  /** Conditions of the store that an administrator has to end. */
  readonly alarms: StoreAlarms
}

export interface Entry {
  readonly key: string
  /** Shared with other readers; must not be modified. */
  readonly value: Uint8Array
  /** The revision of the last write of the key. */
  readonly revision: number
  /** The revision at which the key was last created. */
  readonly createRevision: number
}

export interface ReadOptions {
  /**
   * Reads the state after this revision; the newest when absent. StoreError when compacted or not yet
   * written.
   */
  readonly revision?: number
}

export interface ListOptions extends ReadOptions {
  /** Ends with `/`. Keys are printable ASCII; the list is sorted. */
  readonly prefix: string
  /** Returns only keys after this one, for paging. */
  readonly after?: string
  readonly limit?: number
}

export interface Listing {
  readonly entries: readonly Entry[]
  /** The list is a consistent state at this revision. */
  readonly revision: number
  /** Number of keys after the last entry. */
  readonly remaining: number
}

interface NoteOptions {
  /**
   * Opaque bytes about the write, such as its origin: kept with the revision and delivered with its event, gone when
   * the revision is compacted. Neither empty nor longer than `noteBytesMax`, and not encrypted. An etcd without space
   * drops that of a deletion.
   */
  readonly note?: Uint8Array | undefined
}

export const noteBytesMax = 4_096

export function assertNote(note: Uint8Array): void {
  assert(note.length > 0 && note.length <= noteBytesMax, `a note of ${note.length} bytes`)
}

export interface WriteOptions extends NoteOptions {
  /**
   * The key is deleted after this time, with an ordinary deletion event. An update without it removes the
   * TTL.
   */
  readonly ttlMs?: number
  /** Accepts the write beyond the space quota, e.g. because it is a step of a deletion. etcd ignores it. */
  readonly ignoresQuota?: boolean
}

export interface ExpectedRevision {
  readonly expectedRevision: number
}

export interface UpdateOptions extends WriteOptions, ExpectedRevision {}

export interface DeleteOptions extends NoteOptions, ExpectedRevision {}

/**
 * A lost race is an expected outcome: nothing was written, and `current` is the conflicting entry (undefined
 * when the key does not exist). A write with an unknown outcome, because the connection broke, rejects with
 * StoreError `unavailable`.
 */
export type WriteResult =
  | { readonly written: true; readonly revision: number }
  | { readonly written: false; readonly current: Entry | undefined }

export interface WatchOptions {
  /** Ends with `/` for all keys below it; otherwise a single key. */
  readonly prefix: string
  /** Delivers all events after this revision, each exactly once. */
  readonly afterRevision: number
  /** Ends the watch; the iteration finishes without an error. */
  readonly signal?: AbortSignal
}

/**
 * May be iterated once. Slow readers lose no events: unread ones stay in the log until they are compacted,
 * and the iteration then throws StoreError `compacted`. Broken connections are reestablished transparently.
 */
export interface Watch extends AsyncIterable<WatchBatch> {
  /** Requests a batch, possibly empty, that reports the current revision of the watch. */
  requestProgress(): void
}

export interface WatchBatch {
  /** All events of the watch up to and including this revision have been delivered. */
  readonly revision: number
  /** Ordered by revision. Several events may share a revision when keys expired together. */
  readonly events: readonly StoreEvent[]
}

export type StoreEvent =
  | ({ readonly type: 'put' } & Entry & EventNote)
  | ({ readonly type: 'delete'; readonly key: string; readonly revision: number } & EventNote)

interface EventNote {
  /** That of the write. The expiry of a key has none. */
  readonly note?: Uint8Array | undefined
}

export interface StoreAlarms {
  readonly current: readonly StoreAlarm[]
  /** Calls back after each change, until the signal is aborted. */
  onChange(listener: AlarmListener, signal: AbortSignal): void
}

export type AlarmListener = (alarm: StoreAlarm, change: 'raised' | 'cleared') => void

export interface StoreAlarm {
  readonly type: StoreAlarmType
  readonly message: string
}

export type StoreAlarmType =
  /** Writes are rejected: the disk is full, or the space quota is exceeded. As in etcd. */
  | 'NOSPACE'
  /** Stored data is damaged. As in etcd. */
  | 'CORRUPT'
  /** The disk does not complete a commit. */
  | 'STALL'

export type StoreErrorReason =
  /** The requested revision is compacted: relist. */
  | 'compacted'
  /** The requested revision has not been written yet. */
  | 'future-revision'
  /** The store is unreachable or did not respond in time; a write may or may not have been executed. */
  | 'unavailable'
  /** The store was closed or its disk failed; no writes are acknowledged. */
  | 'closed'
  /** The disk is full or the space quota is exceeded: nothing was written; reads and deletions continue to work. */
  | 'full'
  /** The stored value is damaged and cannot be served. */
  | 'damaged'
  /** A key or value exceeds the store's limits; nothing was written. */
  | 'too-large'

export class StoreError extends Error {
  readonly reason: StoreErrorReason
  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.reason = reason
  }
}
