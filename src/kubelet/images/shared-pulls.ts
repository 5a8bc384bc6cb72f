import type { Clock } from '#/platform/platform.ts'
import { Semaphore } from '../semaphore.ts'

interface Pull<T> {
  readonly result: Promise<T>
  readonly abort: AbortController
  waiters: number
}

/**
 * Limits parallel pulls; further pulls queue in order. Concurrent requests for the same image share one pull,
 * which is canceled when its last waiter leaves.
 */
export class SharedPulls<T> {
  readonly #clock: Clock
  readonly #slots: Semaphore
  readonly #pulls = new Map<string, Pull<T>>()

  constructor(clock: Clock, pullsMax: number) {
    this.#clock = clock
    this.#slots = new Semaphore(pullsMax)
  }

  async pull(
    key: string,
    work: (signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<{ readonly value: T; readonly waitedMs: number }> {
    signal.throwIfAborted()
    const beganMs = this.#clock.monotonicMs()
    const pull = this.#pulls.get(key) ?? this.#begin(key, work)
    pull.waiters++
    const left = Promise.withResolvers<never>()
    const leave = (): void => left.reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      const value = await Promise.race([pull.result, left.promise])
      return { value, waitedMs: this.#clock.monotonicMs() - beganMs }
    } finally {
      signal.removeEventListener('abort', leave)
      if (--pull.waiters === 0) this.#end(key, pull)
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<T>): Pull<T> {
    const abort = new AbortController()
    const pull: Pull<T> = { result: this.#run(work, abort.signal), abort, waiters: 0 }
    this.#pulls.set(key, pull)
    // Prevents an unhandled rejection after all waiters have left.
    pull.result.catch(() => undefined).finally(() => this.#end(key, pull))
    return pull
  }

  #end(key: string, pull: Pull<T>): void {
    if (this.#pulls.get(key) === pull) this.#pulls.delete(key)
    pull.abort.abort()
  }

  #run(work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#slots.use(async () => {
      signal.throwIfAborted()
      return work(signal)
    })
  }
}
