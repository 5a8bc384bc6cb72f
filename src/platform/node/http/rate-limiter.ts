/** Rate limit with a burst. */
export class RateLimiter {
  readonly #burst: number
  readonly #perSecond: number
  #left: number
  #filledMs: number

  constructor(burst: number, perSecond: number) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#left = burst
    this.#filledMs = performance.now()
  }

  /** Returns false if the limit is exceeded. */
  take(): boolean {
    const nowMs = performance.now()
    this.#left = Math.min(this.#burst, this.#left + ((nowMs - this.#filledMs) / 1_000) * this.#perSecond)
    this.#filledMs = nowMs
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
