/**
 * The default store: files in a folder, no server. The log of versions is written by a separate thread, so a slow
 * disk never blocks the event loop; the index of keys and recent events are in memory. A write is acknowledged when
 * it is on disk: `kill -9` at any time loses no acknowledged write. What is read from disk is verified: a store that
 * is not what was acknowledged is not opened.
 */
import { dirname, join } from 'node:path'
import type { Platform, Timer } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { Alarms } from './alarms.ts'
import { describeDamage, StoreDamagedError, type Damage } from './embedded/damage.ts'
import { assertCurrentFormat } from './embedded/log-view.ts'
import { markPaths } from './embedded/mark.ts'
import { readLog } from './embedded/read-log.ts'
import { SegmentJournal } from './embedded/segment-journal.ts'
import { Space } from './embedded/space.ts'
import { SyncWatchdog } from './embedded/sync-watchdog.ts'
import { defaultSegmentBytesMax } from './embedded/write-log.ts'
import { History } from './local/history.ts'
import { LocalStore, type LocalStoreOptions } from './local/local-store.ts'
import type { AlarmListener } from './store.ts'

export { StoreDamagedError }

export interface EmbeddedStoreOptions {
  readonly platform: Platform
  /** Used exclusively by the store; created when missing. */
  readonly folder: string
  /** Path of a second copy of the mark of what was acknowledged, outside the folder of the store. */
  readonly markCopy?: string
  /** Size of the cache of recent values; older ones are read from the files. */
  readonly cacheBytesMax?: number
  /** Size of the files of the log. */
  readonly segmentBytesMax?: number
  /** Maximum size of all objects and their history; at the quota, only deletions are accepted. 0 means no quota. */
  readonly quotaBytes?: number
  /** Time in which all of the log is read and verified once, in the background. */
  readonly scrubMs?: number
  /** Called with the duration of each sync of the log. */
  readonly onSync?: (seconds: number) => void
  /** Called with the duration of each sync that took long. */
  readonly onSlowSync?: (tookMs: number) => void
}

export class EmbeddedStore extends LocalStore {
  readonly #platform: Platform
  readonly #journal: SegmentJournal
  readonly #lock: AsyncDisposable
  readonly #watchdog: SyncWatchdog
  readonly #timers = new Set<Timer>()
  /** Number of the segment that was verified last. */
  #scrubbed = 0
  #scrubbing: Promise<void> | undefined
  readonly #closing = new AbortController()
  /** Size of all objects and their history, and its limit. */
  readonly space: Pick<Space, 'usedBytes' | 'quotaBytes'>

  private constructor(options: LocalStoreOptions & EmbeddedParts) {
    super(options)
    this.#platform = options.platform
    this.#journal = options.journal
    this.#lock = options.lock
    this.#watchdog = options.watchdog
    this.space = options.space
  }

  /**
   * Rejects when another process has the folder open, when its format is an older or a later one, and with
   * StoreDamagedError when it is not what was acknowledged.
   */
  static async open(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
    const { files } = options.platform
    for (const mark of markPaths(options)) await files.makeFolder(dirname(mark), { mode: 0o700 })
    const lock = await files.lock(join(options.folder, 'lock'))
    if (lock === undefined) throw new Error(`the store in ${options.folder} is in use by another process`)
    try {
      return await EmbeddedStore.#openLocked(options, lock)
    } catch (error) {
      await lock[Symbol.asyncDispose]()
      throw error
    }
  }

  static async #openLocked(options: EmbeddedStoreOptions, lock: AsyncDisposable): Promise<EmbeddedStore> {
    const { platform, folder, cacheBytesMax = defaultCacheBytesMax } = options
    const { files, clock, log, random } = platform
    const { segmentBytesMax = defaultSegmentBytesMax } = options
    const marks = markPaths(options)
    await assertCurrentFormat(files, folder)
    const content = await readLog({ files, folder, marks })
    if (content.damages.length > 0) throw new StoreDamagedError(folder, content.damages)
    const history = new History(content.compacted)
    const garbage = history.load(content.versions)
    const find = history.find.bind(history)
    const alarms = new Alarms(platform)
    const throttled = new ThrottledLog(platform)
    const onDamage = (damage: Damage): void => {
      const text = describeDamage(damage)
      throttled.error(text, 'Store is damaged', { ...damage, folder })
      alarms.raise('CORRUPT', text)
    }
    const storeId = content.storeId ?? random.uuid('store id')
    const { onSync, onSlowSync, quotaBytes = 0, scrubMs = defaultScrubMs } = options
    const watchdog = new SyncWatchdog({
      clock,
      log,
      alarms,
      ...(onSync && { onSync }),
      ...(onSlowSync && { onSlowSync }),
    })
    const journal = await SegmentJournal.open(
      { files, clock, log, folder, storeId, marks, segmentBytesMax, find, onDamage, watchdog },
      content,
      garbage,
    )
    const space = new Space({ journal, quotaBytes, alarms })
    const parts = { lock, journal, watchdog, alarms, space }
    const store = new EmbeddedStore({ platform, history, cacheBytesMax, ...parts })
    store.adoptExpiries(content.versions.filter(version => version.expiresMs > 0))
    store.startTrimming()
    // Delayed, so that the writes of startup come first.
    store.#later(reserveDelayMs, () => store.#journal.reserve())
    store.#refreshWhileFull(space)
    store.#scrubLater(scrubMs)
    await space.refresh()
    return store
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#timers) timer.cancel()
    await super[Symbol.asyncDispose]()
    await this.#scrubbing
    this.#watchdog[Symbol.dispose]()
    await this.#lock[Symbol.asyncDispose]()
  }

  /** The alarm is cleared when there is space again. */
  #refreshWhileFull(space: Space): void {
    const isFull = (): boolean => this.alarms.current.some(({ type }) => type === 'NOSPACE')
    let isRunning = false
    const later = (): void =>
      this.#later(refreshMs, async () => {
        await space.refresh()
        isRunning = isFull()
        if (isRunning) later()
      })
    const onChange: AlarmListener = ({ type }, change) => {
      if (type !== 'NOSPACE' || change !== 'raised' || isRunning) return
      isRunning = true
      later()
    }
    this.alarms.onChange(onChange, this.#closing.signal)
  }

  /** Verifies one segment after the other, so that all are read once in a pass. */
  #scrubLater(passMs: number): void {
    const delayMs = passMs / Math.max(1, this.#journal.sealedCount)
    const timer = this.#platform.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer)
      this.#scrubbing = this.#scrub(passMs)
    })
    this.#timers.add(timer)
  }

  async #scrub(passMs: number): Promise<void> {
    this.#scrubbed = (await this.#journal.verify(this.#scrubbed)) ?? 0
    if (!this.#closing.signal.aborted) this.#scrubLater(passMs)
  }

  #later(delayMs: number, work: () => Promise<void>): void {
    if (this.#closing.signal.aborted) return
    const { clock, log } = this.#platform
    const timer = clock.setTimer(delayMs, () => {
      this.#timers.delete(timer)
      this.withJournal(work).catch((error: unknown) => log.warn('Maintenance of the store failed', { error }))
    })
    this.#timers.add(timer)
  }
}

interface EmbeddedParts {
  readonly lock: AsyncDisposable
  readonly journal: SegmentJournal
  readonly watchdog: SyncWatchdog
  readonly space: Space
}

const reserveDelayMs = 1_000

const defaultScrubMs = 24 * 3_600_000

/** Interval in which the disk is looked at while there is no space. */
const refreshMs = 5_000

const defaultCacheBytesMax = 64 * 1024 * 1024
