/**
 * The default store: one file, no server. The log of versions is an SQLite database written by a separate
 * thread, so a slow disk never blocks the event loop; the index of keys and recent events are in memory. A
 * write is acknowledged when it is on disk: `kill -9` at any time loses no acknowledged write.
 */
import { join } from 'node:path'
import type { Platform, Timer } from '#/platform/platform.ts'
import { openForWriting } from './embedded/database.ts'
import { SqliteJournal } from './embedded/sqlite-journal.ts'
import { History } from './local/history.ts'
import { LocalStore, type LocalStoreOptions } from './local/local-store.ts'
import type { Version } from './local/version.ts'

export interface EmbeddedStoreOptions {
  readonly platform: Platform
  /** Used exclusively by the store; created when missing. */
  readonly folder: string
  /** Size of the cache of recent values; older ones are read from the file. */
  readonly cacheBytesMax?: number
  /** For tests: simulated duration of a disk sync. */
  readonly syncDelayMs?: number
}

export class EmbeddedStore extends LocalStore {
  readonly #journal: SqliteJournal
  #reserveTimer: Timer | undefined

  private constructor(options: LocalStoreOptions, journal: SqliteJournal) {
    super(options)
    this.#journal = journal
  }

  /** Rejects when another process has the folder open, or when its content is not a supported store. */
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

  /** Delayed, so that the writes of startup come first. */
  #reserve({ clock, log }: Platform): void {
    this.#reserveTimer = clock.setTimer(reserveDelayMs, () => {
      this.withJournal(() => this.#journal.reserve()).catch((error: unknown) => {
        log.warn('Failed to reserve disk space for the store', { error })
      })
    })
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.#reserveTimer?.cancel()
    await super[Symbol.asyncDispose]()
  }

  /**
   * Writes a copy of the whole store, including all writes acknowledged before, to a file that must not
   * exist. Writes continue meanwhile.
   */
  async saveSnapshot(path: string): Promise<void> {
    await this.#journal.copyTo(path)
  }

  /**
   * Initializes a folder without a store from a snapshot. Clients may know revisions after the snapshot, so
   * the store continues at a much higher revision and compacts its history: clients must relist.
   */
  static async restoreSnapshot(options: {
    platform: Platform
    folder: string
    snapshot: string
  }): Promise<void> {
    const { files } = options.platform
    const path = join(options.folder, fileName)
    if (await files.stat(path))
      throw new Error(`cannot restore to ${options.folder}: it already contains a store`)
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

/** More than the number of writes possible between a snapshot and the loss of the later data. */
const restoreRevisionGap = 1_000_000_000

function* noting(versions: Iterable<Version>, expiring: Version[]): Generator<Version, void, undefined> {
  for (const version of versions) {
    if (version.expiresMs > 0) expiring.push(version)
    yield version
  }
}

/** Marks everything in a closed database as compacted, up to a revision that is `gap` after its last one. */
function bumpRevision(path: string, gap: number): void {
  const database = openForWriting(path)
  database.exec(`
    UPDATE meta
    SET value = ${gap} + max(value, (SELECT coalesce(max(revision), 0) FROM version))
    WHERE name = 'compacted';
    PRAGMA wal_checkpoint(TRUNCATE)
  `)
  database.close()
}
