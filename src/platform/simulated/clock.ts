/**
 * The clock of one life: wall-clock time of its host, which may be skewed, and a monotonic time that starts
 * with the life.
 */
import type { Clock, Timer } from '../platform.ts'
import type { Life } from './life.ts'
import { never, type World } from './world.ts'

/** Wall-clock time at the start of a simulation, for a host without skew. */
export const epochMs = Date.UTC(2026, 0, 1)

export class SimulatedClock implements Clock {
  readonly #world: World
  readonly #life: Life
  /** Skew of the wall clock; read each time, since it may jump. */
  readonly #skewMs: () => number
  readonly #startMs: number

  constructor(world: World, life: Life, skewMs: () => number) {
    this.#world = world
    this.#life = life
    this.#skewMs = skewMs
    this.#startMs = world.time.nowMs
  }

  now(): number {
    return epochMs + this.#world.time.nowMs + this.#skewMs()
  }

  monotonicMs(): number {
    return this.#world.time.nowMs - this.#startMs
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#life.later(delayMs, () => {
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
}
