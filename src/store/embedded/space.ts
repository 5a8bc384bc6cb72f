/**
 * Decides which writes have space, and raises the NOSPACE alarm when one has not. At the quota, and when the disk is
 * full and little reserved space is left, only writes that ignore the quota are accepted: deletions and what belongs to
 * them, so that space can be freed.
 */
import type { Alarms } from '../alarms.ts'
import type { SegmentJournal } from './segment-journal.ts'

export interface SpaceOptions {
  readonly journal: Pick<SegmentJournal, 'usedBytes' | 'reservedBytes' | 'isDiskFull' | 'reserve'>
  /** Maximum size of the records of the store; 0 for none. */
  readonly quotaBytes: number
  readonly alarms: Alarms
}

export class Space {
  readonly #options: SpaceOptions

  constructor(options: SpaceOptions) {
    this.#options = options
  }

  get usedBytes(): number {
    return this.#options.journal.usedBytes
  }

  get quotaBytes(): number {
    return this.#options.quotaBytes
  }

  /** True if there is space for a write of this size. */
  admits(sizeBytes: number): boolean {
    const { journal, quotaBytes } = this.#options
    if (quotaBytes > 0 && journal.usedBytes + sizeBytes > quotaBytes) return false
    return !journal.isDiskFull || journal.reservedBytes - sizeBytes >= deletionReserveBytes
  }

  /** Resolves with `admits` after a look at the disk. */
  async recheck(sizeBytes: number): Promise<boolean> {
    await this.refresh()
    const isAdmitted = this.admits(sizeBytes)
    if (!isAdmitted) this.#options.alarms.raise('NOSPACE', this.#reason())
    return isAdmitted
  }

  /** A write was rejected by the disk. */
  noteFull(): void {
    this.#options.alarms.raise('NOSPACE', 'the disk of the store is full')
  }

  /** Raises or clears the alarm: the history may have been compacted, or the disk may have space again. */
  async refresh(): Promise<void> {
    const { journal, quotaBytes, alarms } = this.#options
    if (journal.isDiskFull) await journal.reserve().catch(() => undefined)
    if (quotaBytes > 0 && journal.usedBytes >= quotaBytes) alarms.raise('NOSPACE', this.#reason())
    const isBelowQuota = quotaBytes === 0 || journal.usedBytes <= quotaBytes * clearedShare
    if (isBelowQuota && !journal.isDiskFull) alarms.clear('NOSPACE')
  }

  #reason(): string {
    const { journal, quotaBytes } = this.#options
    if (journal.isDiskFull) return 'the disk of the store is full'
    return `the store has reached its quota: ${journal.usedBytes} of ${quotaBytes} bytes are in use`
  }
}

/** Kept for deletions while the disk is full. */
const deletionReserveBytes = 1024 * 1024

/** Part of the quota below which the alarm is cleared, so that it does not change with every write. */
const clearedShare = 0.95
