import type { Clock } from '#/platform/platform.ts'

export interface TokenBucketsOptions {
  readonly clock: Clock
  readonly perSecond: number
  readonly burst: number
  /** Buckets kept; past that the one used longest ago is forgotten, and begins full again. */
  readonly bucketsMax: number
}

/** How often something may happen, counted for each key by itself. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions
  readonly #buckets = new Map<string, { readonly tokens: number; readonly atMs: number }>()

  constructor(options: TokenBucketsOptions) {
    this.#options = options
  }

  /** Whether it may happen now. */
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
