/**
 * Divides long work into slices, between which the event loop runs other work. All long work of a process takes turns:
 * in each turn of the event loop they have one slice together, so that their number does not delay anything else. Work
 * that was paused only because much else ran meanwhile needs little of it, and many of them continue in one turn.
 */
import { Queue } from '#/base/queue.ts'
import type { Clock } from './platform.ts'

/** Short enough that other requests are not delayed noticeably. */
const sliceMs = 4

export class TimeSlices {
  readonly #clock: Clock
  readonly #work: string
  #endMs: number

  /** `work` is named when it blocks the event loop. */
  constructor(clock: Clock, work: string) {
    this.#clock = clock
    this.#work = work
    this.#endMs = clock.monotonicMs() + sliceMs
  }

  /** Call often. Returns a promise to be awaited when the slice is over, which is rare. */
  pause(): Promise<void> | undefined {
    return this.#clock.monotonicMs() < this.#endMs ? undefined : this.#next()
  }

  async #next(): Promise<void> {
    await nextSlice(this.#clock, this.#work)
    this.#endMs = this.#clock.monotonicMs() + sliceMs
  }
}

/** Resolves when it is the turn of this work, for work that cannot be divided. */
export async function nextSlice(clock: Clock, work: string): Promise<void> {
  await queues.getOrInsertComputed(clock, () => new SliceQueue(clock)).next()
  clock.beginWork('slice', work)
}

class SliceQueue {
  readonly #clock: Clock
  readonly #waiting = new Queue<() => void>()
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
      const endMs = this.#clock.monotonicMs() + sliceMs
      do {
        this.#waiting.take(1)[0]?.()
        await untilContinued()
      } while (this.#waiting.length > 0 && this.#clock.monotonicMs() < endMs)
    }
    this.#isRunning = false
  }
}

/** Work that awaits its slice in a few nested async functions has continued, and run until it waits for something. */
async function untilContinued(): Promise<void> {
  for (let hops = 0; hops < 8; hops++) await Promise.resolve()
}

/** A process has one clock. */
const queues = new WeakMap<Clock, SliceQueue>()
