/**
 * Deadlines of equal length that share one timer: adding and deleting one costs a few assignments. The number
 * of deadlines is not bounded here; callers are.
 */
import type { Clock, Timer } from '#/platform/platform.ts'

/** A pending deadline. `passed` is called once, unless the deadline is deleted first. */
export class Deadline {
  readonly passed: () => void
  readonly atMs: number
  /** Neighbors in insertion order, which is also the order of expiry. */
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

  /** Must be called at most once, and only for a pending deadline. */
  delete(deadline: Deadline): void {
    this.#unlink(deadline)
    if (this.#first !== undefined) return
    // A pending timer would keep the process alive.
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
