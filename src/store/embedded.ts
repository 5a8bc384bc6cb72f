/**
 * The default store: one file, no server. The log of versions is an SQLite database that a thread of its own
 * writes, so a slow disk never stops the event loop; which keys exist and what happened lately is kept in
 * memory. A write is acknowledged when it is on disk. `kill -9` at any moment loses nothing that was
 * acknowledged.
 */
import { join } from 'node:path'
import type { Platform, Timer } from '#/platform/platform.ts'
import { bumpRevision } from './embedded/log/bump-revision.ts'
import { SqliteJournal } from './embedded/log/sqlite-journal.ts'
import { History } from './local/history.ts'
import { LocalStore, type LocalStoreOptions } from './local/local-store.ts'
import type { Version } from './local/version.ts'

export interface EmbeddedStoreOptions {
  readonly platform: Platform
  /** A folder of the store's own, created when missing. */
  readonly folder: string
  /** Bytes of recent values kept in memory; older ones are read from the file. */
  readonly cacheBytesMax?: number
  /** For tests: pretends that the disk takes this long to sync. */
  readonly syncDelayMs?: number
}

export class EmbeddedStore extends LocalStore {
  readonly #journal: SqliteJournal
  #reserveTimer: Timer | undefined

  private constructor(options: LocalStoreOptions, journal: SqliteJournal) {
    super(options)
    this.#journal = journal
  }

  /** Rejects when another process has the folder open, or when what is in it is no store of ours. */
  static async open(options: EmbeddedStoreOptions): Promise<EmbeddedStore> {
    const { platform, folder, cacheBytesMax = defaultCacheBytesMax, syncDelayMs = 0 } = options
    await platform.files.makeFolder(folder, { mode: 0o700 })
    const journal = await SqliteJournal.open({ path: join(folder, fileName), syncDelayMs })
    const history = new History(journal.compacted)
    const expiring: Version[] = []
    const garbage = history.load(noting(journal.versions(), expiring))
    const store = new EmbeddedStore({ platform, history, journal, garbage, cacheBytesMax }, journal)
    store.adoptExpiries(expiring)
    store.startTrimming()
    store.#reserve(platform)
    return store
  }

  /** Once those who wait for the store to open have written what they have to. */
  #reserve({ clock, log }: Platform): void {
    this.#reserveTimer = clock.setTimer(reserveDelayMs, () => {
      this.withJournal(() => this.#journal.reserve()).catch((error: unknown) => {
        log.warn('the store has no room of its own on the disk', { error })
      })
    })
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#reserveTimer?.cancel()
    await super[Symbol.asyncDispose]()
  }

  /**
   * Writes a copy of the whole store, with all that was acknowledged before, to a file that must not exist.
   * Writes go on.
   */
  async saveSnapshot(path: string): Promise<void> {
    await this.#journal.copyTo(path)
  }

  /**
   * Makes a folder without a store into one with the content of a snapshot. Clients may remember revisions
   * that came after the snapshot was taken, so the store goes on far beyond them and its history begins anew:
   * they list again.
   */
  static async restoreSnapshot(options: {
    platform: Platform
    folder: string
    snapshot: string
  }): Promise<void> {
    const { files } = options.platform
    const path = join(options.folder, fileName)
    if (await files.stat(path)) throw new Error(`cannot restore to ${options.folder}: there is a store in it`)
    await files.makeFolder(options.folder, { mode: 0o700 })
    const copy = `${path}.restoring`
    await files.write(copy, await files.read(options.snapshot), { mode: 0o600 })
    bumpRevision(copy, restoreRevisionGap)
    await files.rename(copy, path)
  }
}

const fileName = 'store.db'

const reserveDelayMs = 1_000

const defaultCacheBytesMax = 64 * 1024 * 1024

/** More writes than can have been made between a snapshot and the loss of what came after it. */
const restoreRevisionGap = 1_000_000_000

function* noting(versions: Iterable<Version>, expiring: Version[]): Generator<Version, void, undefined> {
  for (const version of versions) {
    if (version.expiresMs > 0) expiring.push(version)
    yield version
  }
}
