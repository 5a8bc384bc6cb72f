/**
 * One file of a simulated disk: the content that programs see, the durable content, and the changes since the last
 * sync, of which a crash may leave any part. A faulty disk stores other changes than it was given: programs see their
 * own ones until they are synced, as in a page cache, and then what was stored.
 */
import { FileContent, type FileChange } from './file-content.ts'
import { tearChange, type Tearing } from './torn-write.ts'

/** Changes of one file that are not synced; at this number the kernel writes the older half of them to the disk. */
const unsyncedMax = 10_000

export class File {
  readonly mode: number
  modifiedMs: number
  /** True while a life holds the lock of the file. */
  isLocked = false
  /** The durable content with all changes since. */
  #content = new FileContent(new Uint8Array(0))
  #durable = new FileContent(new Uint8Array(0))
  /** In the order in which they were made. */
  #unsynced: UnsyncedChange[] = []
  /** Number of changes that are no longer in `#unsynced`. */
  #settledCount = 0

  constructor(options: { mode: number; modifiedMs: number }) {
    this.mode = options.mode
    this.modifiedMs = options.modifiedMs
  }

  get sizeBytes(): number {
    return this.#content.sizeBytes
  }

  /** What a crash is sure to leave. */
  get durableContent(): Uint8Array {
    return this.#durable.read()
  }

  /** Everything, or a part; fewer bytes at the end of the file. */
  read(positionBytes?: number, lengthBytes?: number): Uint8Array {
    return this.#content.read(positionBytes, lengthBytes)
  }

  get durableSizeBytes(): number {
    return this.#durable.sizeBytes
  }

  /** The bytes are not copied and must not change. */
  change(seen: FileChange, stored: FileChange = seen): void {
    this.#content.apply(seen)
    this.#unsynced.push({ seen, stored })
    if (this.#unsynced.length >= unsyncedMax)
      this.sync({ changesCount: this.#settledCount + unsyncedMax / 2 })
  }

  beginSync(): SyncPoint {
    return { changesCount: this.#settledCount + this.#unsynced.length }
  }

  /** Makes the changes before the start of the sync durable. */
  sync(began: SyncPoint): void {
    const synced = this.#settle(began)
    for (const { stored } of synced) this.#durable.apply(stored)
    if (synced.some(({ seen, stored }) => seen !== stored)) this.#dropCache(this.sizeBytes)
  }

  /**
   * The kernel considers the pages of a failed sync clean and does not write them again, so that no later sync
   * makes these changes durable. Programs see them as before.
   */
  failSync(began: SyncPoint, tearing: Tearing): void {
    this.#tear(this.#settle(began), tearing)
  }

  /** Applies a power failure. Describes the damage, if any. */
  crash(tearing: Tearing): string | undefined {
    const unsynced = this.#settle(this.beginSync())
    const extents = this.#tear(unsynced, tearing)
    this.#dropCache(0)
    if (unsynced.length === 0) return undefined
    const count = (extent: string): number => extents.filter(found => found === extent).length
    const { sizeBytes } = this
    return `of ${unsynced.length} changes ${count('all')} kept, ${count('part')} in part, ${sizeBytes} bytes`
  }

  /** Changes the durable content. Programs see it where they have not changed it since the last sync. */
  damage(change: FileChange): void {
    this.#durable.apply(change)
    this.#dropCache(change.type === 'truncate' ? 0 : this.sizeBytes)
  }

  /** Removes the changes before the start of the sync from the unsynced ones. */
  #settle(began: SyncPoint): UnsyncedChange[] {
    const settled = this.#unsynced.splice(0, Math.max(0, began.changesCount - this.#settledCount))
    this.#settledCount += settled.length
    return settled
  }

  #tear(changes: readonly UnsyncedChange[], tearing: Tearing): string[] {
    return changes.map(({ stored }) => {
      const { extent, survivors } = tearChange(stored, tearing)
      for (const survivor of survivors) this.#durable.apply(survivor)
      return extent
    })
  }

  /** Pages without unsynced changes are read again. The kernel remembers the size of the file. */
  #dropCache(sizeBytes: number): void {
    this.#content = new FileContent(this.#durable.read())
    for (const { seen } of this.#unsynced) this.#content.apply(seen)
    this.#content.apply({ type: 'extend', sizeBytes })
  }
}

interface UnsyncedChange {
  readonly seen: FileChange
  /** Differs from `seen` by a fault of the disk. */
  readonly stored: FileChange
}

/** The changes that a sync makes durable: those before its start. */
export interface SyncPoint {
  readonly changesCount: number
}
