/**
 * Divides long work into slices, between which the event loop runs other work. All long work of a process takes turns:
 * in each turn of the event loop one of them has a slice, so that their number does not delay anything else.
 */
import type { Clock } from './platform.ts'

/** Short enough that other requests are not delayed noticeably. */
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
    await nextSlice(this.#clock)
    this.#endMs = this.#clock.monotonicMs() + sliceMs
  }
}

/** Resolves when it is the turn of this work, for work that cannot be divided. */
export function nextSlice(clock: Clock): Promise<void> {
  return queues.getOrInsertComputed(clock, () => new SliceQueue(clock)).next()
}

class SliceQueue {
  readonly #clock: Clock
  readonly #waiting: (() => void)[] = []
  #isRunning = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push(resolve)
    if (!this.#isRunning) void this.#run()
    return promise
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      await this.#clock.turn()
      this.#waiting.shift()?.()
    }
    this.#isRunning = false
  }
}

/** A process has one clock. */
const queues = new WeakMap<Clock, SliceQueue>()
