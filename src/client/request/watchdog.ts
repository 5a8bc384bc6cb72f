import type { Clock, Timer } from '#/platform/platform.ts'

/**
 * Calls back once when `heard` was not called for too long. `heard` is cheap: it does not restart the timer.
 */
export class Watchdog implements Disposable {
  readonly #clock: Clock
  readonly #silenceMsMax: number
  readonly #onSilence: () => void
  #heardMs: number
  #timer: Timer | undefined

  constructor(clock: Clock, silenceMsMax: number, onSilence: () => void) {
    this.#clock = clock
    this.#silenceMsMax = silenceMsMax
    this.#onSilence = onSilence
    this.#heardMs = clock.monotonicMs()
    if (silenceMsMax !== Infinity) this.#arm(silenceMsMax)
  }

  heard(): void {
    this.#heardMs = this.#clock.monotonicMs()
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(delayMs: number): void {
    this.#timer = this.#clock.setTimer(delayMs, () => {
      const leftMs = this.#heardMs + this.#silenceMsMax - this.#clock.monotonicMs()
      if (leftMs >= 1) this.#arm(leftMs)
      else this.#onSilence()
    })
  }
}
