/**
 * Takes snapshots of the embedded store at regular intervals and removes the oldest ones. A snapshot shares the files
 * of the store, so it protects from lost and wrongly changed objects, not from the loss of the disk.
 */
import { basename, join } from 'node:path'
import type { Platform } from '#/platform/platform.ts'
import { markPaths, readMark, type StorePlace } from './embedded/mark.ts'
import { timeName } from './embedded/replace-store.ts'
import { linkSnapshot } from './embedded/snapshot-folder.ts'
import { listSnapshots, type Snapshot } from './snapshot.ts'

export interface SnapshotScheduleOptions {
  readonly platform: Platform
  readonly place: StorePlace
  /** Folder of the snapshots, on the file system of the store. */
  readonly folder: string
  readonly intervalMs: number
  /** Number of snapshots that are kept. */
  readonly retention: number
  /** Called after each snapshot, with the error of one that failed. */
  readonly onResult?: (error: unknown) => void
}

export class SnapshotSchedule {
  readonly #options: SnapshotScheduleOptions

  constructor(options: SnapshotScheduleOptions) {
    this.#options = options
  }

  /** A restart does not begin a new interval. A failed snapshot is repeated soon. */
  async run(signal: AbortSignal): Promise<void> {
    const { platform, folder, intervalMs, onResult } = this.#options
    const { clock, log } = platform
    let delayMs: number | undefined
    while (!signal.aborted) {
      try {
        await clock.sleep(delayMs ?? (await this.#untilDueMs()), signal)
        await this.step()
        delayMs = intervalMs
        onResult?.(undefined)
      } catch (error) {
        if (signal.aborted) return
        log.warn('Snapshot of the store failed, retrying', { folder, error })
        delayMs = Math.min(intervalMs, retryMs)
        onResult?.(error)
      }
    }
  }

  /** Takes a snapshot unless the last one has the same revision, and removes those that are too old. */
  async step(): Promise<void> {
    const { platform, place, folder, retention } = this.#options
    const { files, clock, log } = platform
    await files.makeFolder(folder, { mode: 0o700 })
    await this.#removeInterrupted()
    const scheduled = await this.#scheduled()
    const mark = await readMark(files, markPaths(place))
    if (mark && mark.revision !== scheduled.at(-1)?.revision) {
      const path = join(folder, `${prefix}${timeName(clock.now())}`)
      await linkSnapshot(files, place, path)
      log.info('Took a snapshot of the store', { path })
    }
    const kept = await this.#scheduled()
    for (const { path } of kept.slice(0, Math.max(0, kept.length - retention))) await files.remove(path)
  }

  async #untilDueMs(): Promise<number> {
    const { platform, intervalMs } = this.#options
    const last = (await this.#scheduled()).at(-1)
    if (last === undefined) return intervalMs
    // The wall clock may have been changed since.
    const ageMs = Math.max(0, platform.clock.now() - last.savedMs)
    return Math.min(intervalMs, Math.max(startDelayMs, intervalMs - ageMs))
  }

  /** In the order of their revisions, since the wall clock may jump; without snapshots that a user has saved there. */
  async #scheduled(): Promise<readonly Snapshot[]> {
    const { platform, folder } = this.#options
    const all = await listSnapshots(platform, folder)
    const scheduled = all.filter(({ path }) => basename(path).startsWith(prefix))
    return scheduled.sort((left, right) => left.revision - right.revision)
  }

  async #removeInterrupted(): Promise<void> {
    const { platform, folder } = this.#options
    for (const name of await platform.files.list(folder))
      if (name.startsWith(prefix) && name.endsWith('.partial'))
        await platform.files.remove(join(folder, name))
  }
}

const prefix = 'scheduled-'

/** A snapshot that is due does not slow down the start of a cluster. */
const startDelayMs = 60_000

const retryMs = 5 * 60_000
