/**
 * The history of objects: versions of objects that the store has already compacted, from a log that a recorder fills
 * from the watch cache. It is not authoritative, and no write waits for it. Handlers decide whether a user may read the
 * history of an object.
 */
import { badRequest, expired, type ApiError } from '#/api/errors.ts'
import { decodeOrigin, type Origin } from '#/api/origin.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import type { Resource } from '#/api/resource.ts'
import type { Scheme } from '#/api/scheme.ts'
import type { HistoryLog, RetainedSince } from '#/history/history-log.ts'
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { Store } from '#/store/store.ts'
import type { Authorizer } from './authz/authorizer.ts'
import type { Cipher } from './encryption/cipher.ts'
import { HistoryAccess } from './object-history/history-access.ts'
import { HistoryRecorder } from './object-history/history-recorder.ts'
import { KeyLocator } from './object-history/locate-key.ts'
import { isRecorded, progressKey } from './object-history/recorded-keys.ts'
import { ValueEncryption } from './object-history/value-encryption.ts'
import { StoredObject } from './registry/stored-object.ts'
import { keyOf, prefixOf } from './registry/store-keys.ts'
import type { ChangeRecorder, ObjectCache } from './registry/watch-cache.ts'
import type { UserInfo } from './request.ts'

export interface HistorySettings {
  /** Owned by the caller, which closes it after the server has stopped. */
  readonly log: HistoryLog
  /** That of the store; values are not encrypted when absent. */
  readonly encryption?: { cipherFor(key: string): Cipher | undefined }
}

export interface ObjectHistoryOptions extends HistorySettings {
  readonly platform: Platform
  readonly store: Store
  readonly scheme: Scheme
}

/** What the history reads beside the log; set when the API server has been assembled. */
export interface HistorySources {
  readonly cache: ObjectCache
  readonly authorizer: Pick<Authorizer, 'authorize'>
}

export interface ObjectVersion {
  readonly revision: number
  readonly timeMs: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly origin: Origin | undefined
  /** Of a deletion the last state. Undefined if it cannot be decrypted. */
  readonly stored: StoredObject | undefined
}

export class ObjectHistory {
  readonly log: HistoryLog
  readonly locator: KeyLocator
  readonly #recorder: HistoryRecorder
  readonly #values: ValueEncryption
  readonly #platform: Platform
  #sources: HistorySources | undefined
  #retained: { readonly base: number; readonly since: RetainedSince } | undefined

  constructor({ log, platform, store, scheme, encryption }: ObjectHistoryOptions) {
    this.log = log
    this.locator = new KeyLocator(scheme)
    this.#platform = platform
    const cipherFor = (key: string): Cipher | undefined => encryption?.cipherFor(key)
    this.#values = new ValueEncryption({ cipherFor, log: new ThrottledLog(platform) })
    this.#recorder = new HistoryRecorder({ platform, store, log, values: this.#values })
  }

  get recorder(): ChangeRecorder & Pick<HistoryRecorder, 'subscribe' | 'unsubscribe'> {
    return this.#recorder
  }

  readFrom(sources: HistorySources): void {
    this.#sources = sources
  }

  /** Runs until aborted. */
  run(signal: AbortSignal): Promise<void> {
    return this.#recorder.run(signal)
  }

  /** The revision up to which the history is complete, which includes every write completed before the call. */
  async currentRevision(signal?: AbortSignal): Promise<number> {
    const { cache } = this.#read
    await cache.waitForLatest(signal)
    await this.#recorder.complete()
    return cache.revision
  }

  /** States at and after this revision can be read. */
  async retainedSince(): Promise<RetainedSince> {
    const base = await this.log.retainedSince()
    if (base === undefined) return this.#recorder.first
    if (this.#retained?.base !== base.revision)
      this.#retained = { base: base.revision, since: await this.#afterMissingWrites(base) }
    return this.#retained.since
  }

  accessOf(user: UserInfo): HistoryAccess {
    const { authorizer } = this.#read
    return new HistoryAccess({
      user,
      authorizer,
      clock: this.#platform.clock,
      namespaceCreation: namespace => this.#namespaceCreation(namespace),
    })
  }

  /** Throws ApiError 400 for resources whose changes are not recorded. */
  requireRecorded(resource: Resource): void {
    if (isRecorded(prefixOf(resource, ''))) return
    throw badRequest(`the history of ${resource.plural} is not recorded`)
  }

  /** The last revision at or before a time. Rejects with ApiError 410 if that is not retained. */
  async revisionAt(timeMs: number): Promise<number> {
    const revision = await this.log.revisionAt(timeMs)
    if (revision !== undefined) return revision
    const { revision: first, timeMs: firstMs } = this.#recorder.first
    if (this.log.lastRevision === 0 && timeMs >= firstMs) return first
    throw tooOld(new Date(timeMs).toISOString(), await this.retainedSince())
  }

  /** Rejects with ApiError 410 if states at the revision are not retained. */
  async requireRetained(revision: number): Promise<void> {
    const since = await this.retainedSince()
    if (revision < since.revision) throw tooOld(`revision ${revision}`, since)
  }

  /** Newest first. */
  async *versions(
    key: string,
    options: { readonly beforeRevision?: number; readonly limit: number },
  ): AsyncGenerator<ObjectVersion, void, undefined> {
    for await (const record of this.log.versions(key, options)) {
      const { revision, timeMs, type, value, origin } = record
      yield {
        revision,
        timeMs,
        type,
        origin: origin && decodeOrigin(origin),
        stored: await this.#open({ key, revision, value }),
      }
    }
  }

  /** The object at a revision that the cache has; undefined if it did not exist. */
  async at(key: string, revision: number): Promise<StoredObject | undefined> {
    const { cache } = this.#read
    await this.#recorder.complete()
    const current = cache.get(key)
    if (current !== undefined && current.revision <= revision) return current
    const state = await this.log.at(key, revision)
    if (state.type === 'version') return this.#open({ key, ...state })
    if (state.type === 'absent' || (state.type === 'unchanged' && current === undefined)) return undefined
    throw tooOld(`revision ${revision}`, await this.retainedSince())
  }

  /** All objects under a prefix at a revision that the cache has, in key order. */
  async listAt(prefix: string, revision: number): Promise<PastList> {
    const { cache } = this.#read
    await this.#recorder.complete()
    const objects = new Map<string, StoredObject>()
    // Taken at once; those that have changed since the revision are in the log.
    for (const stored of cache.list(prefix)) if (stored.revision <= revision) objects.set(stored.key, stored)
    let [sizeBytes, unreadable] = [0, 0]
    for await (const { key, state } of this.log.listAt(prefix, revision)) {
      if (state.type !== 'version' || objects.has(key)) continue
      const stored = await this.#open({ key, ...state })
      if (stored === undefined) unreadable++
      else objects.set(key, stored)
      sizeBytes += state.value.length
      if (sizeBytes > pastBytesMax) throw tooLarge(revision)
    }
    const sorted = [...objects.values()].sort((left, right) => (left.key < right.key ? -1 : 1))
    return { objects: sorted, unreadable }
  }

  /**
   * Where recording begins, a mark without an object is the first record. The writes of its own revision are not
   * recorded, so that lists of the revision before would lack objects.
   */
  async #afterMissingWrites(base: RetainedSince): Promise<RetainedSince> {
    const range = { afterRevision: base.revision, untilRevision: base.revision + 1 }
    for await (const [first] of this.log.range(range))
      if (first?.key === progressKey) return { revision: first.revision, timeMs: first.timeMs }
    return base
  }

  get #read(): HistorySources {
    if (this.#sources === undefined) throw new Error('the history is read before the API server is assembled')
    return this.#sources
  }

  async #open(version: Versioned): Promise<StoredObject | undefined> {
    const value = await this.#values.open(version.key, version.value)
    return value && new StoredObject({ ...version, value })
  }

  /** The last creation of the namespace; 0 if it was before the retained history. */
  async #namespaceCreation(namespace: string): Promise<number> {
    for await (const record of this.log.versions(keyOf(namespaces, '', namespace))) {
      if (record.type === 'ADDED') return record.revision
    }
    return 0
  }
}

export interface PastList {
  readonly objects: readonly StoredObject[]
  /** Number of objects that cannot be decrypted. */
  readonly unreadable: number
}

interface Versioned {
  readonly key: string
  readonly revision: number
  readonly value: Uint8Array
}

/** Bound on the objects of one list that are not in the cache. */
const pastBytesMax = 128 * 1024 * 1024

function tooOld(asked: string, { revision, timeMs }: RetainedSince): ApiError {
  const since = `${new Date(timeMs).toISOString()} (revision ${revision})`
  return expired(
    `${asked} is too old: history is kept since ${since}, see --history-max-age and --history-max-size`,
  )
}

function tooLarge(revision: number): ApiError {
  const size = `${pastBytesMax / 1024 ** 2} MiB`
  return badRequest(
    `the objects that have changed since revision ${revision} exceed ${size}: list one namespace`,
  )
}
