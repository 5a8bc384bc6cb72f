import { backoffMs } from '#/base/backoff.ts'

/**
 * How long pods that failed wait until they are replaced, longer each time: a kubelet that refuses a pod would refuse
 * its successors as fast as they came. What is remembered here is lost in a restart, and costs a few pods more then.
 */
export class FailedPods {
  /** The one that was replaced the longest ago first. */
  readonly #replaced = new Map<string, Replaced>()

  /** How long until the next may be replaced; zero when it may be now. */
  waitMs(key: string, nowMs: number): number {
    return Math.max(0, (this.#replaced.get(key)?.untilMs ?? 0) - nowMs)
  }

  /** One is being replaced. */
  replaced(key: string, nowMs: number): void {
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

/** Whatever was replaced before that counts no more. */
const forgetMs = 2 * wait.maxMs
