/**
 * A revisioned key-value log: the part of etcd that Kubernetes needs, and no more. Every successful write
 * gets the next revision of the whole store. Only the API server holds a `Store`. Three implementations
 * (`memory`, `embedded`, `etcd`) pass one conformance suite, `store.conformance.ts`, which is the contract in
 * detail.
 */
export interface Store extends AsyncDisposable {
  /**
   * The revision of the last write anywhere in the cluster; every write acknowledged before the call is at or
   * below it.
   */
  revision(): Promise<number>
  get(key: string, options?: ReadOptions): Promise<Entry | undefined>
  list(options: ListOptions): Promise<Listing>
  /** Writes a key that does not exist. */
  create(key: string, value: Uint8Array, options?: WriteOptions): Promise<WriteResult>
  /** Writes a key that exists at just this revision. */
  update(key: string, value: Uint8Array, options: UpdateOptions): Promise<WriteResult>
  /** Removes a key that exists at just this revision. The deletion has a revision of its own. */
  delete(key: string, options: ExpectedRevision): Promise<WriteResult>
  watch(options: WatchOptions): Watch
  /** Forgets what was overwritten or deleted at or before the revision; never what is still current at it. */
  compact(revision: number): Promise<void>
  /** States before this revision cannot be read, nor watched from, any more. 0 at first. */
  compactedRevision(): Promise<number>
}

export interface Entry {
  readonly key: string
  /** Shared with other readers: never written to. */
  readonly value: Uint8Array
  /** The revision of the write that made this value. */
  readonly revision: number
  /** The revision at which the key came into being (again). */
  readonly createRevision: number
}

export interface ReadOptions {
  /**
   * The state after this revision's write; the newest when absent. StoreError when compacted or not yet
   * written.
   */
  readonly revision?: number
}

export interface ListOptions extends ReadOptions {
  /** Ends with `/`. Keys are printable ASCII and come in order. */
  readonly prefix: string
  /** Only keys after this one: where the page before ended. */
  readonly after?: string
  readonly limit?: number
}

export interface Listing {
  readonly entries: readonly Entry[]
  /** The revision the list is a picture of. */
  readonly revision: number
  /** How many more keys follow the last entry. */
  readonly remaining: number
}

export interface WriteOptions {
  /**
   * The key removes itself after this time, with an ordinary deletion. An update without it makes the key
   * stay.
   */
  readonly ttlMs?: number
}

export interface ExpectedRevision {
  readonly expectedRevision: number
}

export interface UpdateOptions extends WriteOptions, ExpectedRevision {}

/**
 * A lost race is an expected outcome: nothing was written, and `current` is what stands in the way (undefined
 * when the key is gone). A write whose outcome is unknown, because the connection broke, rejects with
 * StoreError `unavailable`.
 */
export type WriteResult =
  | { readonly written: true; readonly revision: number }
  | { readonly written: false; readonly current: Entry | undefined }

export interface WatchOptions {
  /** Ends with `/` for everything below it; otherwise one key. */
  readonly prefix: string
  /** Events follow this revision, none missing, none twice. */
  readonly afterRevision: number
  /** Ends the watch: iteration finishes without an error. */
  readonly signal?: AbortSignal
}

/**
 * Iterate it once. A slow reader loses nothing: what it has not read stays in the log, until compaction
 * overtakes it and iteration throws StoreError `compacted`. A broken connection is repaired inside, unseen.
 */
export interface Watch extends AsyncIterable<WatchBatch> {
  /** Asks for a batch, empty if need be, that says how far the watch has come. */
  requestProgress(): void
}

export interface WatchBatch {
  /** Every event of the watch up to and including this revision has been delivered with this batch. */
  readonly revision: number
  /** In the order of their revisions. Several may share one revision when keys expired together. */
  readonly events: readonly StoreEvent[]
}

export type StoreEvent =
  | ({ readonly type: 'put' } & Entry)
  | { readonly type: 'delete'; readonly key: string; readonly revision: number }

export type StoreErrorReason =
  /** The revision asked for is compacted: list again. */
  | 'compacted'
  /** The revision asked for has not been written. */
  | 'future-revision'
  /** The store cannot be reached or did not answer in time; a write may or may not have happened. */
  | 'unavailable'
  /** The store was closed, or its disk failed: nothing is acknowledged any more. */
  | 'closed'
  /** There is no room for what is to be written: nothing happened, and reading goes on. */
  | 'full'
  /** A key or value is over the store's limits; nothing happened. */
  | 'too-large'

export class StoreError extends Error {
  readonly reason: StoreErrorReason
  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.reason = reason
  }
}
