/** Divides long work into slices, between which the event loop runs other work. */
import type { Clock } from './platform.ts'

/** Short enough that many concurrent long tasks do not delay other requests noticeably. */
const sliceMs = 4

export class TimeSlices {
  readonly #clock: Clock
  #endMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#endMs = clock.monotonicMs() + sliceMs
  }

  /** Call often. Returns a promise to be awaited when the slice is over, which is rare. */
  pause(): Promise<void> | undefined {
    return this.#clock.monotonicMs() < this.#endMs ? undefined : this.#next()
  }

  async #next(): Promise<void> {
    await this.#clock.turn()
    this.#endMs = this.#clock.monotonicMs() + sliceMs
  }
}
