/**
 * Caches outcomes of remote token authentication for a short time; concurrent lookups of the same token share
 * one call.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { Clock } from '#/platform/platform.ts'
import type { MaybeLater, Outcome } from './authenticator.ts'

export interface OutcomeCacheOptions {
  readonly clock: Clock
  /** Maximum size; the least recently used entry is evicted. */
  readonly sizeMax: number
}

/** An outcome and its TTL; zero disables caching. */
export interface TimedOutcome {
  readonly outcome: Outcome
  readonly keepMs: number
}

export class OutcomeCache {
  readonly #clock: Clock
  readonly #known: LruMap<string, Kept>
  /** Calls in progress, by key. */
  readonly #asked = new Map<string, Promise<Outcome>>()

  constructor({ clock, sizeMax }: OutcomeCacheOptions) {
    this.#clock = clock
    this.#known = new LruMap(sizeMax)
  }

  get size(): number {
    return this.#known.size
  }

  /** The cached outcome, without a remote call. */
  peek(key: string): Kept | undefined {
    const known = this.#known.get(key)
    return known !== undefined && this.#clock.monotonicMs() < known.untilMs ? known : undefined
  }

  get(key: string, ask: () => Promise<TimedOutcome>): MaybeLater<Outcome> {
    const known = this.peek(key)
    if (known !== undefined) return known.outcome
    const asked = this.#asked.get(key)
    if (asked !== undefined) return asked
    const asking = this.#ask(key, ask)
    this.#asked.set(key, asking)
    return asking
  }

  async #ask(key: string, ask: () => Promise<TimedOutcome>): Promise<Outcome> {
    try {
      const { outcome, keepMs } = await ask()
      if (keepMs > 0) this.#known.set(key, { outcome, untilMs: this.#clock.monotonicMs() + keepMs })
      return outcome
    } finally {
      this.#asked.delete(key)
    }
  }
}

interface Kept {
  readonly outcome: Outcome
  readonly untilMs: number
}
