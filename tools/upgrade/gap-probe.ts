import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats a request, and knows the longest time without a success. */
export class GapProbe implements AsyncDisposable {
  readonly #running: Promise<void>
  #isStopped = false
  #lastMs = performance.now()
  #longestMs = 0
  #failures = 0

  constructor(request: () => Promise<void>) {
    this.#running = this.#repeat(request)
  }

  get longestGapMs(): number {
    return this.#longestMs
  }

  get failures(): number {
    return this.#failures
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #repeat(request: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      try {
        await request()
        const nowMs = performance.now()
        this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs)
        this.#lastMs = nowMs
      } catch {
        this.#failures++
      }
      await sleep(periodMs)
    }
  }
}

const periodMs = 20
