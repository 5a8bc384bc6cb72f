import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { LruMap } from '#/base/lru-map.ts'

interface Failures {
  readonly count: number
  readonly atMs: number
  readonly message: string
}

/** 10 s, doubling up to 5 min. */
const backoff: Backoff = { initialMs: 10_000, maxMs: 300_000, factor: 2, jitter: 0 }

/** Backoff is reset after this time without a failure. */
const forgottenMs = 2 * backoff.maxMs

/** Limit of remembered failures per pod and image; dropped entries are retried early. */
const entriesMax = 10_000

/** Backoff of failed image pulls per pod and image. */
export class PullBackoff {
  readonly #failures = new LruMap<string, Failures>(entriesMax)

  /** The last error while the backoff lasts. */
  waiting(
    key: string,
    nowMs: number,
  ): { readonly message: string; readonly requeueAfterMs: number } | undefined {
    const failures = this.#failures.get(key)
    if (failures === undefined) return undefined
    const requeueAfterMs = failures.atMs + backoffMs(failures.count, backoff, 0) - nowMs
    return requeueAfterMs > 0 ? { message: failures.message, requeueAfterMs } : undefined
  }

  failed(key: string, message: string, nowMs: number): void {
    const before = this.#failures.get(key)
    const isRecent = before !== undefined && nowMs - before.atMs <= forgottenMs
    this.#failures.set(key, { count: isRecent ? before.count + 1 : 1, atMs: nowMs, message })
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }
}
