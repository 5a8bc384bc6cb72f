/**
 * The in-memory store, for tests and simulation. With a journal file it survives a crash of its host, so that
 * a simulated disk can lose or tear unsynced writes. The journal only grows: for production use `embedded`.
 */
import type { Platform } from '#/platform/platform.ts'
import { History } from './local/history.ts'
import { LocalStore } from './local/local-store.ts'
import { FileJournal } from './file-journal.ts'

export interface MemoryStoreOptions {
  readonly platform: Platform
  /** Path of the journal file, created when missing. */
  readonly journal?: string
}

export class MemoryStore extends LocalStore {
  static async open(options: MemoryStoreOptions): Promise<MemoryStore> {
    const { platform } = options
    if (options.journal === undefined) return new MemoryStore({ platform, history: new History() })
    const { journal, versions, compacted } = await FileJournal.open(platform.files, options.journal)
    const history = new History()
    history.load(versions)
    history.compact(compacted)
    const store = new MemoryStore({ platform, history, journal })
    store.adoptExpiries(versions.filter(version => version.expiresMs > 0))
    store.startTrimming()
    return store
  }
}
