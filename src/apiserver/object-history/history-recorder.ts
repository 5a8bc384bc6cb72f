/**
 * Records the changes that the watch cache takes from the store. After a restart, and after a gap in the cache's watch,
 * it first replays what is missing from the store; changes that arrive meanwhile are replayed with the rest, so that
 * nothing has to be queued.
 */
import { decodeOrigin } from '#/api/origin.ts'
import type { HistoryLog, RetainedSince } from '#/history/history-log.ts'
import type { NewRecord, PreviousVersion, RecordType } from '#/history/history-record.ts'
import type { Platform } from '#/platform/platform.ts'
import { StoreError, type Store } from '#/store/store.ts'
import type { CacheEvent } from '../registry/cache-event.ts'
import { replay } from '../registry/history.ts'
import type { StoredObject } from '../registry/stored-object.ts'
import { storeRoot } from '../registry/store-keys.ts'
import type { ChangeRecorder } from '../registry/watch-cache.ts'
import { isRecorded, progressKey } from './recorded-keys.ts'
import type { ValueEncryption } from './value-encryption.ts'

export interface HistoryRecorderOptions {
  readonly platform: Platform
  readonly store: Store
  readonly log: HistoryLog
  readonly values: ValueEncryption
}

export class HistoryRecorder implements ChangeRecorder {
  readonly #options: HistoryRecorderOptions
  readonly #listeners = new Set<RecordListener>()
  #newestRevision = 0
  /** All changes up to this revision are in the log. */
  #recordedRevision = 0
  #first: RetainedSince = { revision: 0, timeMs: 0 }
  #lastMs = 0
  /** Undefined while the log has all changes that the cache has. */
  #catchingUp = Promise.withResolvers<void>() as PromiseWithResolvers<void> | undefined
  #wake: (() => void) | undefined

  constructor(options: HistoryRecorderOptions) {
    this.#options = options
  }

  /** Where recording began if nothing was recorded before. */
  get first(): RetainedSince {
    return this.#first
  }

  get isComplete(): boolean {
    return this.#catchingUp === undefined
  }

  /** Resolves when the log has all changes that the cache has. */
  async complete(): Promise<void> {
    await this.#catchingUp?.promise
  }

  /** Calls back with each batch of new records, until unsubscribed. */
  subscribe(listener: RecordListener): void {
    this.#listeners.add(listener)
  }

  unsubscribe(listener: RecordListener): void {
    this.#listeners.delete(listener)
  }

  onLoad(revision: number): void {
    this.#newestRevision = revision
    this.#catchingUp ??= Promise.withResolvers()
    this.#wake?.()
  }

  onChanges(events: readonly CacheEvent[], revision: number): void {
    this.#newestRevision = revision
    if (!this.isComplete) return
    this.#record(events, this.#options.platform.clock.now())
    this.#recordedRevision = revision
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    const wake = (): void => this.#wake?.()
    signal.addEventListener('abort', wake)
    try {
      while (!signal.aborted) {
        if (this.isComplete || this.#newestRevision === 0) {
          await this.#sleep()
          continue
        }
        try {
          await this.#catchUp(signal)
        } catch (error) {
          if (signal.aborted) return
          log.warn('Failed to complete the history from the store, retrying', { error })
          await clock.sleep(retryDelayMs, signal).catch(() => undefined)
        }
      }
    } finally {
      signal.removeEventListener('abort', wake)
      this.#markProgress()
    }
  }

  /** Until a load, at most for a period, after which progress is recorded. */
  async #sleep(): Promise<void> {
    const { clock } = this.#options.platform
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = clock.setTimer(progressPeriodMs, resolve)
    this.#wake = resolve
    await promise
    this.#wake = undefined
    timer.cancel()
    this.#markProgress()
  }

  /**
   * Otherwise a restart would replay from the last recorded change, which may be compacted if only Leases and Events
   * have changed since.
   */
  #markProgress(): void {
    const { log, platform } = this.#options
    const revision = this.#recordedRevision
    if (revision <= log.lastRevision) return
    const timeMs = this.#timeOf(platform.clock.now())
    const unknown = { uid: '', origin: undefined, previous: undefined }
    log.append([{ revision, timeMs, key: progressKey, type: 'MODIFIED', value: nothing, ...unknown }])
  }

  async #catchUp(signal: AbortSignal): Promise<void> {
    const { log, store, platform } = this.#options
    const { clock } = platform
    this.#recordedRevision = Math.max(this.#recordedRevision, log.lastRevision)
    if (log.lastRevision > this.#newestRevision) {
      platform.log.warn('The store is older than the history, which is cleared', {
        revision: this.#newestRevision,
        recordedRevision: log.lastRevision,
      })
      await log.reset()
      this.#begin()
    } else if (this.#recordedRevision === 0) {
      this.#begin()
    }
    while (this.#recordedRevision < this.#newestRevision) {
      const afterRevision = this.#recordedRevision
      const untilRevision = this.#newestRevision
      try {
        const missed = replay(store, { prefix: storeRoot, afterRevision, untilRevision, signal })
        for await (const events of missed) this.#record(events, clock.now())
      } catch (error) {
        if (!(error instanceof StoreError) || error.reason !== 'compacted') throw error
        const gap = { afterRevision, untilRevision }
        platform.log.warn('Changes are missing in the history: the store has compacted them', gap)
        log.noteGap()
        this.#begin()
        continue
      }
      if (signal.aborted) return
      this.#recordedRevision = untilRevision
    }
    this.#catchingUp?.resolve()
    this.#catchingUp = undefined
  }

  /** What was before the present state of the store is not in the log. */
  #begin(): void {
    this.#recordedRevision = this.#newestRevision
    this.#first = { revision: this.#newestRevision, timeMs: this.#options.platform.clock.now() }
    this.#markProgress()
  }

  #record(events: readonly CacheEvent[], nowMs: number): void {
    const records: NewRecord[] = []
    for (const event of events) if (isRecorded(event.key)) records.push(this.#recordOf(event, nowMs))
    if (records.length === 0) return
    this.#options.log.append(records)
    for (const listener of this.#listeners) listener(records)
  }

  #recordOf(event: CacheEvent, nowMs: number): NewRecord {
    // A change that is replayed was made earlier.
    const timeMs = this.isComplete ? nowMs : Math.min(nowMs, writtenMs(event.note) ?? nowMs)
    return new ChangeRecord(event, { timeMs: this.#timeOf(timeMs), values: this.#options.values })
  }

  /** Times never decrease, although the clock may be set back. */
  #timeOf(timeMs: number): number {
    this.#lastMs = Math.max(this.#lastMs, timeMs)
    return this.#lastMs
  }
}

export type RecordListener = (records: readonly NewRecord[]) => void

const progressPeriodMs = 60_000

const retryDelayMs = 1_000

function writtenMs(note: Uint8Array | undefined): number | undefined {
  return note && decodeOrigin(note)?.receivedMs
}

interface RecordContext {
  readonly timeMs: number
  readonly values: ValueEncryption
}

class ChangeRecord implements NewRecord {
  readonly revision: number
  readonly timeMs: number
  readonly key: string
  readonly type: RecordType
  readonly value: Uint8Array
  readonly uid: string
  readonly origin: Uint8Array | undefined
  readonly #previous: StoredObject | undefined
  readonly #values: ValueEncryption

  constructor({ revision, key, current, previous, note }: CacheEvent, { timeMs, values }: RecordContext) {
    const version = current ?? previous
    this.revision = revision
    this.timeMs = timeMs
    this.key = key
    this.type = current ? (previous ? 'MODIFIED' : 'ADDED') : 'DELETED'
    this.value = version ? values.seal(key, version.stored) : nothing
    this.uid = version?.uid ?? ''
    this.origin = note
    this.#previous = previous
    this.#values = values
  }

  get previous(): PreviousVersion | undefined {
    const previous = this.#previous
    return previous && { revision: previous.revision, value: this.#values.seal(this.key, previous.stored) }
  }
}

const nothing = new Uint8Array()
