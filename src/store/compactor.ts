/**
 * Keeps the history of a store as long as it is told and no longer. It notes from time to time how far the
 * store has come, and compacts to what it noted when that is old enough. When nothing is written it compacts
 * nothing.
 */
import type { Clock, Log } from '#/platform/platform.ts'
import { StoreError, type Store } from './store.ts'

export interface CompactorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** How long a state can be read after it was overwritten. */
  readonly keepMs: number
}

export class Compactor {
  readonly #options: CompactorOptions
  /** How far the store had come at earlier times, oldest first; at most `marksPerHistory` + 1 of them. */
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
        log.warn('cannot compact the store, trying again', { error })
      }
    }
  }

  /** Compacts to the newest state that is old enough, and notes the present one. */
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

/** How finely the age of a state is known: history is kept for at most a tenth longer than asked for. */
const marksPerHistory = 10
