import type { Clock } from '#/platform/platform.ts'
import { CriError, type CallOptions } from '../cri.ts'

/** The deadline of one call. A timer exists only while the call waits. */
export class CallDeadline {
  readonly #clock: Clock
  readonly #signal: AbortSignal | undefined
  readonly #endMs: number

  constructor(clock: Clock, { signal, timeoutMs = Infinity }: CallOptions = {}) {
    this.#clock = clock
    this.#signal = signal
    this.#endMs = clock.monotonicMs() + timeoutMs
  }

  /** Waits; throws CriError `timeout` if the deadline comes first. */
  async sleep(ms: number): Promise<void> {
    this.#signal?.throwIfAborted()
    if (ms <= 0) return
    const leftMs = this.#endMs - this.#clock.monotonicMs()
    if (Math.min(ms, leftMs) === Infinity) await this.until(new Promise(() => undefined))
    await this.#clock.sleep(Math.max(0, Math.min(ms, leftMs)), this.#signal)
    if (ms > leftMs) throw timedOut()
  }

  /** Awaits the promise until the deadline. The promise is not canceled. */
  async until<T>(promise: Promise<T>): Promise<T> {
    const { promise: cut, reject } = Promise.withResolvers<never>()
    const abort = (): void => reject(this.#signal?.reason)
    const leftMs = this.#endMs - this.#clock.monotonicMs()
    const timer = leftMs === Infinity ? undefined : this.#clock.setTimer(leftMs, () => reject(timedOut()))
    this.#signal?.addEventListener('abort', abort, { once: true })
    if (this.#signal?.aborted) abort()
    try {
      return await Promise.race([promise, cut])
    } finally {
      timer?.cancel()
      this.#signal?.removeEventListener('abort', abort)
    }
  }
}

function timedOut(): CriError {
  return new CriError('timeout', 'context deadline exceeded')
}
