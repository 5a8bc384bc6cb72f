/** Cache of answers of the API server. */
import { LruMap } from '#/base/lru-map.ts'
import type { Clock } from '#/platform/platform.ts'

export interface TimedCacheOptions {
  readonly clock: Clock
  readonly sizeMax: number
}

/** Cache with a TTL per entry. Concurrent lookups of a key share one request. */
export class TimedCache<T> {
  readonly #clock: Clock
  readonly #entries: LruMap<string, { readonly value: T; readonly untilMs: number }>
  readonly #asking = new Map<string, Promise<T>>()

  constructor({ clock, sizeMax }: TimedCacheOptions) {
    this.#clock = clock
    this.#entries = new LruMap(sizeMax)
  }

  /** Number of requests in progress. */
  get askingCount(): number {
    return this.#asking.size
  }

  /** Failures are not cached. */
  async get(key: string, ask: () => Promise<T>, holdsMs: (value: T) => number): Promise<T> {
    const known = this.#entries.get(key)
    if (known !== undefined && known.untilMs > this.#clock.monotonicMs()) return known.value
    const running = this.#asking.get(key)
    if (running !== undefined) return running
    const asking = ask()
    this.#asking.set(key, asking)
    try {
      const value = await asking
      this.#entries.set(key, { value, untilMs: this.#clock.monotonicMs() + holdsMs(value) })
      return value
    } finally {
      this.#asking.delete(key)
    }
  }
}
