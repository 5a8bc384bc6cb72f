/**
 * The default store: files in a folder, no server. The log of versions is written by a separate thread, so a slow
 * disk never blocks the event loop; the index of keys and recent events are in memory. A write is acknowledged when
 * it is on disk: `kill -9` at any time loses no acknowledged write. What is read from disk is verified: a store that
 * is not what was acknowledged is not opened.
 */
import { dirname, join } from 'node:path'
import type { Platform, Timer } from '#/platform/platform.ts'
import { StoreDamagedError, type Damage } from './embedded/damage.ts'
import { migrateFormat1 } from './embedded/format-1.ts'
import { readLog } from './embedded/read-log.ts'
import { SegmentJournal } from './embedded/segment-journal.ts'
import { History } from './local/history.ts'
import { LocalStore, type LocalStoreOptions } from './local/local-store.ts'

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
}

export class EmbeddedStore extends LocalStore {
  readonly #platform: Platform
  readonly #journal: SegmentJournal
  readonly #lock: AsyncDisposable
  #reserveTimer: Timer | undefined

  private constructor(
    options: LocalStoreOptions & { readonly journal: SegmentJournal },
    lock: AsyncDisposable,
  ) {
    super(options)
    this.#platform = options.platform
    this.#journal = options.journal
    this.#lock = lock
  }

  /**
   * Rejects when another process has the folder open, when it was written by a later version, and with
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
    await migrateFormat1({ platform, folder, marks, segmentBytesMax })
    const content = await readLog({ files, folder, marks })
    if (content.damages.length > 0) throw new StoreDamagedError(folder, content.damages)
    const history = new History(content.compacted)
    const garbage = history.load(content.versions)
    const find = history.find.bind(history)
    const onDamage = (damage: Damage): void => log.error('Store is damaged', { ...damage, folder })
    const storeId = content.storeId ?? random.uuid('store id')
    const journal = await SegmentJournal.open(
      { files, clock, log, folder, storeId, marks, segmentBytesMax, find, onDamage },
      content,
      garbage,
    )
    const store = new EmbeddedStore({ platform, history, journal, cacheBytesMax }, lock)
    store.adoptExpiries(content.versions.filter(version => version.expiresMs > 0))
    store.startTrimming()
    store.#reserveLater()
    return store
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#reserveTimer?.cancel()
    await super[Symbol.asyncDispose]()
    await this.#lock[Symbol.asyncDispose]()
  }

  /** Delayed, so that the writes of startup come first. */
  #reserveLater(): void {
    const { clock, log } = this.#platform
    this.#reserveTimer = clock.setTimer(reserveDelayMs, () => {
      this.withJournal(() => this.#journal.reserve()).catch((error: unknown) => {
        log.warn('Failed to reserve disk space for the store', { error })
      })
    })
  }
}

function markPaths({ folder, markCopy }: Pick<EmbeddedStoreOptions, 'folder' | 'markCopy'>): string[] {
  return [join(folder, 'mark'), ...(markCopy === undefined ? [] : [markCopy])]
}

const reserveDelayMs = 1_000

const defaultCacheBytesMax = 64 * 1024 * 1024

const defaultSegmentBytesMax = 8 * 1024 * 1024
