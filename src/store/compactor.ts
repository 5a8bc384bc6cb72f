/**
 * Compacts a store periodically, so that its history is kept for a fixed time. It records the revision at
 * regular intervals and compacts to a recorded one when it is old enough. It does nothing while there are no
 * writes.
 */
import type { Clock, Log } from '#/platform/platform.ts'
import { StoreError, type Store } from './store.ts'

export interface CompactorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Time that a state stays readable after it was overwritten. */
  readonly keepMs: number
}

export class Compactor {
  readonly #options: CompactorOptions
  /** Recorded revisions, oldest first; at most `marksPerHistory` + 1. */
  readonly #marks: Mark[] = []

  constructor(options: CompactorOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, keepMs, log } = this.#options
    while (!signal.aborted) {
      try {
        await clock.sleep(keepMs / marksPerHistory, signal)
        await this.step()
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof StoreError && error.reason === 'closed') throw error
        log.warn('Compaction failed, retrying', { error })
      }
    }
  }

  /** Compacts to the newest recorded revision that is old enough, and records the current one. */
  async step(): Promise<void> {
    const { store, clock, keepMs } = this.#options
    const now = clock.monotonicMs()
    const dueCount = this.#marks.filter(mark => mark.atMs <= now - keepMs).length
    const due = this.#marks.splice(0, dueCount).at(-1)
    const revision = await store.revision()
    if (revision !== this.#marks.at(-1)?.revision) this.#marks.push({ atMs: now, revision })
    if (due && due.revision > (await store.compactedRevision())) await store.compact(due.revision)
  }
}

interface Mark {
  readonly atMs: number
  readonly revision: number
}

/** Resolution of the age of a revision: history is kept for at most a tenth longer than `keepMs`. */
const marksPerHistory = 10
