/**
 * What somebody far away has said of tokens, kept for a short time; who asks meanwhile waits for one answer.
 */
import { LruMap } from '#/base/lru-map.ts'
import type { Clock } from '#/platform/platform.ts'
import type { MaybeLater, Outcome } from './authenticator.ts'

export interface OutcomeCacheOptions {
  readonly clock: Clock
  /** Past it the one that was not used for longest is forgotten, and asked about again. */
  readonly sizeMax: number
}

/** An outcome, and how long it may be relied on; not at all when zero. */
export interface TimedOutcome {
  readonly outcome: Outcome
  readonly keepMs: number
}

export class OutcomeCache {
  readonly #clock: Clock
  readonly #known: LruMap<string, Kept>
  /** As many as there are requests that wait. */
  readonly #asked = new Map<string, Promise<Outcome>>()

  constructor({ clock, sizeMax }: OutcomeCacheOptions) {
    this.#clock = clock
    this.#known = new LruMap(sizeMax)
  }

  get size(): number {
    return this.#known.size
  }

  /** What is known now, without asking anybody. */
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
