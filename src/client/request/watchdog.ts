import type { Clock, Timer } from '#/platform/platform.ts'

/**
 * Calls back once when `reset` was not called for too long. `reset` is cheap: it does not restart the timer.
 */
export class Watchdog implements Disposable {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #onTimeout: () => void
  #resetMs: number
  #timer: Timer | undefined

  constructor(clock: Clock, timeoutMs: number, onTimeout: () => void) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#onTimeout = onTimeout
    this.#resetMs = clock.monotonicMs()
    if (timeoutMs !== Infinity) this.#arm(timeoutMs)
  }

  reset(): void {
    this.#resetMs = this.#clock.monotonicMs()
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.setTimer(delayMs, () => {
      const leftMs = this.#resetMs + this.#timeoutMs - this.#clock.monotonicMs()
      if (leftMs >= 1) this.#arm(leftMs)
      else this.#onTimeout()
    })
  }
}
