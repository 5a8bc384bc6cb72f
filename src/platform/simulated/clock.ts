/**
 * The clock of one life: wall-clock time of its host, which may be skewed, and a monotonic time that starts
 * with the life. Both, and the timers, run at the rate of the host's oscillator.
 */
import type { Clock, Timer } from '../platform.ts'
import type { Life } from './life.ts'
import type { VirtualTime } from './virtual-time.ts'
import { never, type World } from './world.ts'

/** Wall-clock time at the start of a simulation, for a host without skew. */
export const epochMs = Date.UTC(2026, 0, 1)

/** The time of a host's oscillator. It survives crashes. */
export class HostTime {
  readonly #time: VirtualTime
  /** Skew of the wall clock. */
  skewMs = 0
  #rate = 1
  /** The host's time and the virtual time when the rate was set. */
  #since = { hostMs: 0, virtualMs: 0 }

  constructor(time: VirtualTime) {
    this.#time = time
  }

  /** Host milliseconds per virtual millisecond. Timers that are set already keep their time. */
  get rate(): number {
    return this.#rate
  }

  set rate(rate: number) {
    this.#since = { hostMs: this.nowMs, virtualMs: this.#time.nowMs }
    this.#rate = rate
  }

  /** In whole microseconds, like virtual time. */
  get nowMs(): number {
    const { hostMs, virtualMs } = this.#since
    if (this.#rate === 1) return hostMs + this.#time.nowMs - virtualMs
    return hostMs + Math.round((this.#time.nowMs - virtualMs) * this.#rate * 1_000) / 1_000
  }
}

export class SimulatedClock implements Clock {
  readonly #world: World
  readonly #life: Life
  readonly #time: HostTime
  readonly #startMs: number

  constructor(world: World, life: Life, time: HostTime) {
    this.#world = world
    this.#life = life
    this.#time = time
    this.#startMs = time.nowMs
  }

  now(): number {
    return epochMs + this.#time.nowMs + this.#time.skewMs
  }

  monotonicMs(): number {
    return this.#time.nowMs - this.#startMs
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#life.later(delayMs / this.#time.rate, () => {
      this.#world.trace.record(this.#life.name, 'timer')
      callback()
    })
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (this.#life.ended) return never()
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const onAbort = (): void => {
        timer.cancel()
        reject(signal?.reason)
      }
      const timer = this.setTimer(delayMs, () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  turn(): Promise<void> {
    if (this.#life.ended) return never()
    return new Promise(resolve => {
      this.#life.later(0, resolve)
    })
  }

  /** Virtual time does not pass while work is done. */
  beginWork(): void {}
}
