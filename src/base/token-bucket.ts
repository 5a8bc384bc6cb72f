/**
 * So many at once, then so many in a time. Time comes in with each call, in milliseconds that never go back;
 * a bucket that nobody asks does nothing.
 */
export interface BucketLimits {
  readonly burst: number
  readonly perSecond: number
}

export class TokenBucket {
  readonly #limits: BucketLimits
  /** Below zero when tokens were taken that are yet to come. */
  #tokens: number
  #filledMs: number

  constructor(limits: BucketLimits, nowMs: number) {
    this.#limits = limits
    this.#tokens = limits.burst
    this.#filledMs = nowMs
  }

  /** Takes a token if there is one. */
  take(nowMs: number): boolean {
    this.#fill(nowMs)
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Takes a token, also one that is yet to come, and says how long until it is there. */
  reserve(nowMs: number): number {
    this.#fill(nowMs)
    this.#tokens--
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#limits.perSecond) * 1_000
  }

  #fill(nowMs: number): void {
    const { burst, perSecond } = this.#limits
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledMs) / 1_000) * perSecond)
    this.#filledMs = nowMs
  }
}
