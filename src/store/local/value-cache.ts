/**
 * The values and notes of recent versions of a store that has them in its journal, too, for readers that are a little
 * behind. Past a size or an age they are only in the journal.
 */
import { Queue } from '#/base/queue.ts'
import type { Clock, Timer } from '#/platform/platform.ts'
import type { Version } from './version.ts'

export interface ValueCacheOptions {
  readonly clock: Clock
  readonly sizeBytesMax: number
}

export class ValueCache implements Disposable {
  readonly #options: ValueCacheOptions
  /** Versions with content in memory, oldest first; `#sizeBytes` is its size. */
  readonly #versions = new Queue<Version>()
  #sizeBytes = 0
  /** Number of versions that were there when the timer was set. */
  #agingCount = 0
  #timer: Timer | undefined

  constructor(options: ValueCacheOptions) {
    this.#options = options
  }

  add(versions: readonly Version[]): void {
    for (const version of versions) {
      if (version.value === undefined && version.note === undefined) continue
      this.#versions.push(version)
      this.#sizeBytes += contentBytes(version)
    }
    while (this.#sizeBytes > this.#options.sizeBytesMax) this.#evict(1)
    if (this.#timer === undefined && this.#versions.length > 0) this.#age()
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
  }

  /** Evicts in the next turn of the timer what is there now. */
  #age(): void {
    this.#agingCount = this.#versions.length
    this.#timer = this.#options.clock.setTimer(ageMs, () => {
      this.#timer = undefined
      this.#evict(this.#agingCount)
      if (this.#versions.length > 0) this.#age()
    })
  }

  #evict(count: number): void {
    for (const oldest of this.#versions.take(count)) {
      this.#sizeBytes -= contentBytes(oldest)
      oldest.value = undefined
      oldest.note = undefined
    }
    this.#agingCount = Math.max(0, this.#agingCount - count)
  }
}

function contentBytes({ value, note }: Version): number {
  return (value?.length ?? 0) + (note?.length ?? 0)
}

/** A value stays at least this long, and at most twice as long. */
const ageMs = 10_000
