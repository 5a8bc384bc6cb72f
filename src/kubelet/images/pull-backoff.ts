import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { LruMap } from '#/base/lru-map.ts'

interface Failures {
  readonly count: number
  readonly atMs: number
  readonly message: string
}

/** Ten seconds, then twice as long each time, up to five minutes. */
const backoff: Backoff = { initialMs: 10_000, maxMs: 300_000, factor: 2, jitter: 0 }

/** What failed so long ago counts no more. */
const forgottenMs = 2 * backoff.maxMs

/** Images of pods whose failures are remembered; what is forgotten is just tried earlier. */
const entriesMax = 10_000

/** How long an image is not pulled again for a pod after it could not be. */
export class PullBackoff {
  readonly #failures = new LruMap<string, Failures>(entriesMax)

  /** What failed last, as long as it is too early to try again. */
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
