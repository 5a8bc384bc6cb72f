/**
 * Logs the same failure with growing pauses: at once when it is new, then once after each pause for as long as it
 * repeats. A line that follows a pause counts the repetitions that were not logged. A failure that has not happened
 * for the longest pause is new again.
 */
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { LruMap } from '#/base/lru-map.ts'
import type { LogFields, Platform } from './platform.ts'

export class ThrottledLog {
  readonly #platform: Pick<Platform, 'clock' | 'log'>
  /** Past the bound the failure that has not happened for longest is forgotten, and logged at once if it returns. */
  readonly #failures = new LruMap<string, Failure>(failuresMax)

  constructor(platform: Pick<Platform, 'clock' | 'log'>) {
    this.#platform = platform
  }

  /** `key` identifies the failure. */
  warn(key: string, message: string, fields: LogFields = {}): void {
    const due = this.#due(key)
    if (due) this.#platform.log.warn(message, { ...fields, ...due })
  }

  error(key: string, message: string, fields: LogFields = {}): void {
    const due = this.#due(key)
    if (due) this.#platform.log.error(message, { ...fields, ...due })
  }

  /** Undefined during a pause. */
  #due(key: string): { readonly suppressed?: number } | undefined {
    const nowMs = this.#platform.clock.monotonicMs()
    const known = this.#failures.get(key)
    if (known === undefined || nowMs - known.lastMs > pauses.maxMs) {
      this.#failures.set(key, {
        lines: 1,
        lastMs: nowMs,
        pauseEndMs: nowMs + pauses.initialMs,
        suppressed: 0,
      })
      return {}
    }
    known.lastMs = nowMs
    if (nowMs < known.pauseEndMs) {
      known.suppressed++
      return undefined
    }
    const { suppressed } = known
    known.lines++
    known.pauseEndMs = nowMs + backoffMs(known.lines, pauses, 0)
    known.suppressed = 0
    return suppressed > 0 ? { suppressed } : {}
  }
}

interface Failure {
  /** Logged since the failure was new. */
  lines: number
  /** When it happened last. */
  lastMs: number
  pauseEndMs: number
  /** Repetitions in this pause. */
  suppressed: number
}

const failuresMax = 1_000

const pauses: Backoff = { initialMs: 1_000, maxMs: 5 * 60_000, factor: 4, jitter: 0 }
