import { backoffMs } from '#/base/backoff.ts'

/**
 * Backoff for replacing failed pods: a kubelet that rejects a pod would reject its replacements as fast as
 * they are created. Kept in memory only; after a restart the backoff starts over.
 */
export class FailedPodsBackoff {
  /** In order of last replacement, oldest first. */
  readonly #replaced = new Map<string, Replaced>()

  /** Time until the next failed pod may be replaced; zero if now. */
  remainingMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#replaced.get(key)?.untilMs ?? 0) - nowMs)
  }

  next(key: string, nowMs: number): void {
    for (const [old, { atMs }] of this.#replaced) {
      if (nowMs - atMs <= forgetMs) break
      this.#replaced.delete(old)
    }
    const times = (this.#replaced.get(key)?.times ?? 0) + 1
    this.#replaced.delete(key)
    this.#replaced.set(key, { times, atMs: nowMs, untilMs: nowMs + backoffMs(times, wait, 0) })
  }
}

interface Replaced {
  readonly times: number
  readonly atMs: number
  readonly untilMs: number
}

const wait = { initialMs: 1_000, maxMs: 15 * 60_000, factor: 2, jitter: 0 }

/** Entries older than this are dropped. */
const forgetMs = 2 * wait.maxMs
