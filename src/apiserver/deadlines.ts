/**
 * Many things that may take the same time, and one timer for all of them: what takes a moment, as most do, costs two
 * assignments and no timer of its own. Nothing here bounds how many there are; those who ask for one are bounded.
 */
import type { Clock, Timer } from '#/platform/platform.ts'

/** One that has not passed yet. `passed` is called once, unless it is deleted before. */
export class Deadline {
  readonly passed: () => void
  readonly atMs: number
  /** Neighbours in the order in which they were added, which is the order in which they pass. */
  before: Deadline | undefined
  after: Deadline | undefined

  constructor(passed: () => void, atMs: number) {
    this.passed = passed
    this.atMs = atMs
  }
}

export class Deadlines {
  readonly #clock: Clock
  readonly #lengthMs: number
  #first: Deadline | undefined
  #last: Deadline | undefined
  #timer: Timer | undefined

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock
    this.#lengthMs = lengthMs
  }

  add(passed: () => void): Deadline {
    const deadline = new Deadline(passed, this.#clock.monotonicMs() + this.#lengthMs)
    deadline.before = this.#last
    if (this.#last) this.#last.after = deadline
    else this.#first = deadline
    this.#last = deadline
    this.#timer ??= this.#clock.setTimer(this.#lengthMs, () => this.#pass())
    return deadline
  }

  /** Each is deleted once, and not when it has passed. */
  delete(deadline: Deadline): void {
    this.#unlink(deadline)
    if (this.#first !== undefined) return
    // A timer for nothing would keep the process alive.
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #pass(): void {
    this.#timer = undefined
    const nowMs = this.#clock.monotonicMs()
    while (this.#first && this.#first.atMs <= nowMs) {
      const deadline = this.#first
      this.#unlink(deadline)
      deadline.passed()
    }
    if (this.#first) this.#timer = this.#clock.setTimer(this.#first.atMs - nowMs, () => this.#pass())
  }

  #unlink(deadline: Deadline): void {
    const { before, after } = deadline
    if (before) before.after = after
    else this.#first = after
    if (after) after.before = before
    else this.#last = before
    deadline.before = undefined
    deadline.after = undefined
  }
}
