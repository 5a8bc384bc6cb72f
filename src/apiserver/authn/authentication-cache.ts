/**
 * Caches results of remote token authentication for a short time; concurrent lookups of the same token share
 * one call.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { Clock } from '#/platform/platform.ts'
import type { AccessMetrics } from '../metrics/access.ts'
import type { Awaitable, AuthenticationResult } from './authenticator.ts'

export interface AuthenticationCacheOptions {
  readonly clock: Clock
  /** Maximum size; the least recently used entry is evicted. */
  readonly sizeMax: number
  readonly metrics?: AccessMetrics | undefined
}

/** A result and its TTL; zero disables caching. */
export interface TimedResult {
  readonly result: AuthenticationResult
  readonly keepMs: number
}

export class AuthenticationCache {
  readonly #clock: Clock
  readonly #metrics: AccessMetrics | undefined
  readonly #known: LruMap<string, Kept>
  /** Calls in progress, by key. */
  readonly #asked = new Map<string, Promise<AuthenticationResult>>()

  constructor({ clock, sizeMax, metrics }: AuthenticationCacheOptions) {
    this.#clock = clock
    this.#metrics = metrics
    this.#known = new LruMap(sizeMax)
  }

  get size(): number {
    return this.#known.size
  }

  /** The cached result, without a remote call. */
  peek(key: string): Kept | undefined {
    const known = this.#known.get(key)
    return known !== undefined && this.#clock.monotonicMs() < known.untilMs ? known : undefined
  }

  get(key: string, ask: () => Promise<TimedResult>): Awaitable<AuthenticationResult> {
    const known = this.peek(key)
    if (known !== undefined) {
      this.#metrics?.recordTokenCache('hit', 0)
      return known.result
    }
    const asked = this.#asked.get(key)
    if (asked !== undefined) return asked
    const asking = this.#ask(key, ask)
    this.#asked.set(key, asking)
    return asking
  }

  async #ask(key: string, ask: () => Promise<TimedResult>): Promise<AuthenticationResult> {
    const startedMs = this.#clock.monotonicMs()
    try {
      const { result, keepMs } = await ask()
      this.#metrics?.recordTokenFetch(keepMs > 0 ? 'ok' : 'error')
      if (keepMs > 0) this.#known.set(key, { result, untilMs: this.#clock.monotonicMs() + keepMs })
      return result
    } finally {
      this.#metrics?.recordTokenCache('miss', (this.#clock.monotonicMs() - startedMs) / 1_000)
      this.#asked.delete(key)
    }
  }
}

interface Kept {
  readonly result: AuthenticationResult
  readonly untilMs: number
}
