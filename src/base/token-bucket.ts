/** A token bucket rate limiter. The caller passes a monotonic time in milliseconds; there are no timers. */
export interface BucketLimits {
  readonly burst: number
  readonly perSecond: number
}

export class TokenBucket {
  readonly #limits: BucketLimits
  /** Negative when future tokens have been reserved. */
  #tokens: number
  #filledMs: number

  constructor(limits: BucketLimits, nowMs: number) {
    this.#limits = limits
    this.#tokens = limits.burst
    this.#filledMs = nowMs
  }

  /** Takes a token if one is available. */
  take(nowMs: number): boolean {
    this.#fill(nowMs)
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }

  /** Takes a token, possibly a future one, and returns the delay in milliseconds until it is available. */
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
