/**
 * The clock of a simulation: a heap of timers and the time of the last one that fired. Nothing here waits;
 * `fireNext` advances the time. Time is kept in whole microseconds, so that adding delays never rounds.
 */
import { assert } from '#/base/assert.ts'
import { Heap } from '#/base/heap.ts'
import type { Timer } from '../platform.ts'

/** Maximum pending timers. Exceeding it is a leak in the program under test and fails immediately. */
const timersMax = 1_000_000

/** Maximum delay of a timer: a century, well within what a double represents in microseconds. */
const delayMsMax = 100 * 365 * 24 * 60 * 60 * 1_000

export class VirtualTime {
  readonly #timers = new Heap<PendingTimer>(byTime)
  #now = 0
  #sequence = 0
  #turns = 0

  get nowMs(): number {
    return this.#now / 1_000
  }

  /** Number of completed turns; distinguishes moments of the same virtual time. */
  get turns(): number {
    return this.#turns
  }

  /** Time of the next timer. */
  get nextMs(): number | undefined {
    const next = this.#timers.peek()
    return next && next.at / 1_000
  }

  /** Timers due at the same time fire in the order in which they were set. */
  schedule(delayMs: number, callback: () => void): Timer {
    assert(!Number.isNaN(delayMs), 'a timer needs a delay that is a number')
    assert(this.#timers.size < timersMax, `more than ${timersMax} timers are pending`)
    const delay = microseconds(Math.min(Math.max(delayMs, 0), delayMsMax))
    const entry = this.#timers.push({ at: this.#now + delay, sequence: this.#sequence++, callback })
    return { cancel: () => void this.#timers.remove(entry) }
  }

  /** Advances to the next timer and calls it. Exceptions of the callback propagate. */
  fireNext(): void {
    const timer = this.#timers.pop()
    assert(timer, 'no timer is pending')
    this.#now = timer.at
    timer.callback()
  }

  /** Called when everything that followed from the last timer has run. */
  endTurn(): void {
    this.#turns++
  }

  /** Advances the time without firing timers; not past the next timer, and never back. */
  advanceTo(untilMs: number): void {
    const until = Math.max(this.#now, Math.round(untilMs * 1_000))
    assert(until <= (this.#timers.peek()?.at ?? until), 'a timer is due before that')
    this.#now = until
  }
}

/**
 * Rounded up, since a timer must not fire early; fractions below a nanosecond are floating-point noise. A delay of
 * nothing but noise still takes time: otherwise the rest of a time that has not quite passed would never pass.
 */
function microseconds(delayMs: number): number {
  if (delayMs > 1e9) return Math.ceil(delayMs * 1e3)
  return Math.max(delayMs > 0 ? 1 : 0, Math.ceil(Math.round(delayMs * 1e6) / 1e3))
}

function byTime(left: PendingTimer, right: PendingTimer): number {
  return left.at - right.at || left.sequence - right.sequence
}

interface PendingTimer {
  readonly at: number
  readonly sequence: number
  readonly callback: () => void
}
