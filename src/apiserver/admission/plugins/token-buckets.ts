import type { Clock } from '#/platform/platform.ts'

export interface TokenBucketsOptions {
  readonly clock: Clock
  readonly perSecond: number
  readonly burst: number
  /**
   * Maximum number of buckets; past it the least recently used one is evicted and its key starts full again.
   */
  readonly bucketsMax: number
}

/** Token bucket rate limiter per key. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions
  readonly #buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>()

  constructor(options: TokenBucketsOptions) {
    this.#options = options
  }

  /** Takes a token; false if none is available. */
  take(key: string): boolean {
    const { clock, perSecond, burst, bucketsMax } = this.#options
    const nowMs = clock.monotonicMs()
    const { tokens, atMs } = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs }
    const available = Math.min(burst, tokens + ((nowMs - atMs) * perSecond) / 1_000)
    const isAllowed = available >= 1
    this.#buckets.delete(key)
    this.#buckets.set(key, { tokens: isAllowed ? available - 1 : available, atMs: nowMs })
    if (this.#buckets.size > bucketsMax) this.#buckets.delete(this.#buckets.keys().next().value!)
    return isAllowed
  }
}
