/**
 * Encryption at rest: a Store that encrypts and decrypts values according to the EncryptionConfiguration, on
 * top of another store. Readers of this store see plain values; readers of the disk or etcd see encrypted
 * ones.
 */
import type { Log } from '#/platform/platform.ts'
import {
  StoreError,
  type DeleteOptions,
  type Entry,
  type Listing,
  type ListOptions,
  type ReadOptions,
  type Store,
  type StoreAlarms,
  type StoreEvent,
  type UpdateOptions,
  type Watch,
  type WatchBatch,
  type WatchOptions,
  type WriteOptions,
  type WriteResult,
} from '#/store/store.ts'
import { DecryptionError, type Cipher, type Decrypted } from './encryption/cipher.ts'
import { encryptedPrefix } from './encryption/provider-chain.ts'
import { storeRoot } from './registry/store-keys.ts'

export { DecryptionError } from './encryption/cipher.ts'
export { parseEncryptionConfiguration } from './encryption/configuration.ts'
export { ensureEncryptionConfiguration } from './encryption/configuration.ts'
export { ResourceCiphers } from './encryption/resource-ciphers.ts'
export { runEncryptionMaintenance } from './encryption/maintenance.ts'

export interface EncryptingStoreOptions {
  readonly store: Store
  /** Undefined for keys that are stored unencrypted. */
  readonly encryption: { cipherFor(key: string): Cipher | undefined }
  readonly log: Log
}

export interface RewriteResult {
  readonly rewritten: number
  /** Number of values that no key decrypts. */
  readonly unreadable: number
}

export class EncryptingStore implements Store {
  readonly #store: Store
  readonly #encryption: EncryptingStoreOptions['encryption']
  readonly #log: Log
  /** Plain values by their encrypted bytes, so that values just written by this server need no decryption. */
  readonly #written = new WeakMap<Uint8Array, Uint8Array>()
  #hasStale = false

  constructor({ store, encryption, log }: EncryptingStoreOptions) {
    this.#store = store
    this.#encryption = encryption
    this.#log = log
  }

  /** True if values were read that are not encrypted with the current write key; see `reencryptStale`. */
  get hasStale(): boolean {
    return this.#hasStale
  }

  get alarms(): StoreAlarms {
    return this.#store.alarms
  }

  revision(): Promise<number> {
    return this.#store.revision()
  }

  async get(key: string, options?: ReadOptions): Promise<Entry | undefined> {
    const entry = await this.#store.get(key, options)
    return entry && this.#open(entry)
  }

  /**
   * Undecryptable values are replaced by a marker, so that one damaged value does not fail the whole list.
   */
  async list(options: ListOptions): Promise<Listing> {
    const listing = await this.#store.list(options)
    return { ...listing, entries: await this.#openAll(listing.entries) }
  }

  async create(key: string, value: Uint8Array, options?: WriteOptions): Promise<WriteResult> {
    return this.#openResult(await this.#store.create(key, this.#seal(key, value), options))
  }

  async update(key: string, value: Uint8Array, options: UpdateOptions): Promise<WriteResult> {
    return this.#openResult(await this.#store.update(key, this.#seal(key, value), options))
  }

  async delete(key: string, options: DeleteOptions): Promise<WriteResult> {
    return this.#openResult(await this.#store.delete(key, options))
  }

  watch(options: WatchOptions): Watch {
    const watch = this.#store.watch(options)
    const openEvents = (events: readonly StoreEvent[]): Promise<readonly StoreEvent[]> =>
      this.#openEvents(events)
    return {
      requestProgress: () => watch.requestProgress(),
      async *[Symbol.asyncIterator](): AsyncGenerator<WatchBatch, void, undefined> {
        for await (const batch of watch) {
          yield batch.events.length === 0
            ? batch
            : { revision: batch.revision, events: await openEvents(batch.events) }
        }
      },
    }
  }

  compact(revision: number): Promise<void> {
    return this.#store.compact(revision)
  }

  compactedRevision(): Promise<number> {
    return this.#store.compactedRevision()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }

  /**
   * Re-encrypts all values that are not encrypted with the current write key, so that old keys can be
   * removed. Values changed concurrently are skipped, because they are already up to date.
   */
  async reencryptStale(signal?: AbortSignal): Promise<RewriteResult> {
    let rewritten = 0
    let unreadable = 0
    let after: string | undefined
    for (;;) {
      const page = await this.#store.list({ prefix: storeRoot, limit: pageKeys, ...(after && { after }) })
      for (const entry of page.entries) {
        signal?.throwIfAborted()
        const outcome = await this.#rewrite(entry)
        if (outcome === 'rewritten') rewritten++
        if (outcome === 'unreadable') unreadable++
      }
      if (page.remaining === 0) break
      after = page.entries.at(-1)?.key
    }
    if (unreadable === 0) this.#hasStale = false
    return { rewritten, unreadable }
  }

  async #rewrite({ key, value, revision }: Entry): Promise<'rewritten' | 'unreadable' | 'kept'> {
    const cipher = this.#encryption.cipherFor(key)
    if (cipher === undefined || key.startsWith(expiring)) return 'kept'
    let decrypted: Decrypted
    try {
      decrypted = await cipher.decrypt(value, key)
    } catch (error) {
      if (error instanceof DecryptionError) return 'unreadable'
      throw error
    }
    if (!decrypted.isStale) return 'kept'
    const { written } = await this.update(key, decrypted.value, { expectedRevision: revision })
    return written ? 'rewritten' : 'kept'
  }

  #seal(key: string, value: Uint8Array): Uint8Array {
    const cipher = this.#encryption.cipherFor(key)
    if (cipher === undefined) return value
    const sealed = cipher.encrypt(value, key)
    if (sealed !== value) this.#written.set(sealed, value)
    return sealed
  }

  async #openResult(result: WriteResult): Promise<WriteResult> {
    if (result.written || result.current === undefined) return result
    return { written: false, current: await this.#open(result.current) }
  }

  /**
   * Throws DecryptionError if the value is undecryptable, and StoreError `unavailable` if decryption may
   * succeed later.
   */
  #open<E extends Entry>(entry: E): E | Promise<E> {
    const cipher = this.#encryption.cipherFor(entry.key)
    if (cipher === undefined) return entry
    const written = this.#written.get(entry.value)
    if (written) return { ...entry, value: written }
    const opened = ({ value, isStale }: Decrypted): E => {
      if (isStale) this.#hasStale = true
      return { ...entry, value }
    }
    try {
      const decrypted = cipher.decrypt(entry.value, entry.key)
      if (!(decrypted instanceof Promise)) return opened(decrypted)
      return decrypted.then(opened, error => fail(entry.key, error))
    } catch (error) {
      return fail(entry.key, error)
    }
  }

  async #openAll(entries: readonly Entry[]): Promise<readonly Entry[]> {
    const opened: Entry[] = []
    for (const entry of entries)
      opened.push(this.#isSealed(entry.key) ? await this.#openOrMark(entry) : entry)
    return opened
  }

  async #openEvents(events: readonly StoreEvent[]): Promise<readonly StoreEvent[]> {
    const opened: StoreEvent[] = []
    for (const event of events) {
      const isSealed = event.type === 'put' && this.#isSealed(event.key)
      opened.push(isSealed ? await this.#openOrMark(event) : event)
    }
    return opened
  }

  #isSealed(key: string): boolean {
    return this.#encryption.cipherFor(key) !== undefined
  }

  async #openOrMark<E extends Entry>(entry: E): Promise<E> {
    try {
      return await this.#open(entry)
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error
      this.#log.error('failed to decrypt stored value', { key: entry.key, error })
      return { ...entry, value: unreadable }
    }
  }
}

function fail(key: string, error: unknown): never {
  if (error instanceof DecryptionError) {
    throw new DecryptionError(`cannot decrypt ${key}: ${error.message}`, { cause: error })
  }
  throw new StoreError('unavailable', `cannot decrypt ${key} now`, { cause: error })
}

/** Marker for an undecryptable value; not JSON, so it cannot be mistaken for an object. */
const unreadable = Buffer.from(`${encryptedPrefix}unreadable`)

/** Page size. */
const pageKeys = 500

/** Events have a TTL; rewriting them would remove it. */
const expiring = `${storeRoot}events/`
