/**
 * The clock of one life: wall time from its host, which may be wrong, and a monotonic time that starts with
 * the life.
 */
import type { Clock, Timer } from '../platform.ts'
import type { Life } from './life.ts'
import { never, type World } from './world.ts'

/** The wall clock of a host without skew when a simulation begins. */
export const epochMs = Date.UTC(2026, 0, 1)

export class SimulatedClock implements Clock {
  readonly #world: World
  readonly #life: Life
  /** How far the wall clock is off; read every time, since it may jump. */
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
