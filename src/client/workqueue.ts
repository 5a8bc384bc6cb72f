/**
 * A work queue of keys, as client-go's. A key is queued at most once however often it is added, and is never
 * processed by two workers at once: when added during processing, it is queued again afterwards. Failed keys
 * are requeued with exponential backoff. The queue is unbounded, since the number of keys is bounded by the
 * number of objects.
 */
import { backoffMs } from '#/base/backoff.ts'
import { Deque } from '#/base/deque.ts'
import { TokenBucket, type BucketLimits } from '#/base/token-bucket.ts'
import { isApiError } from '#/api/errors.ts'
import type { Clock, Platform } from '#/platform/platform.ts'
import { DelayedKeys } from './workqueue/delayed-keys.ts'

export interface WorkQueueOptions {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  /** For logs and metrics. */
  readonly name: string
  /** Backoff for each key. */
  readonly retryMs?: { readonly first: number; readonly max: number }
  /** Rate limit for all retries together. */
  readonly retryRate?: BucketLimits
}

/** Processes a key. The key is requeued with backoff on an error, or after the returned delay. */
export type KeyWorker = (key: string, signal: AbortSignal) => Promise<void | Again>

export interface Again {
  readonly againAfterMs: number
}

/** Totals since creation, or current values; there are none per key. */
export interface WorkQueueMetrics {
  /** Number of keys that are ready. */
  readonly depth: number
  readonly delayed: number
  readonly working: number
  /** Processing time so far of the longest running key. */
  readonly longestWorkMs: number
  readonly adds: number
  readonly retries: number
  readonly done: number
  readonly waitedMs: number
  readonly workedMs: number
}

const retryMsUsual = { first: 5, max: 1_000_000 }
const retryRateUsual = { burst: 100, perSecond: 10 }

export class WorkQueue {
  readonly name: string
  readonly #clock: Clock
  readonly #log: Platform['log']
  readonly #retryMs: { readonly first: number; readonly max: number }
  readonly #bucket: TokenBucket
  readonly #delayed: DelayedKeys
  /**
   * Keys to process, and when they were added. They are in `#ready`, or in `#working` and become ready
   * afterwards.
   */
  readonly #dirty = new Map<string, number>()
  /** Keys being processed, and when that began. */
  readonly #working = new Map<string, number>()
  /** Keys for the next workers, in FIFO order: each is in `#dirty` and not in `#working`. */
  readonly #ready = new Deque<string>()
  readonly #failures = new Map<string, number>()
  /** Wakes one pending `take` each, in FIFO order. */
  readonly #takers = new Set<() => void>()
  readonly #drainers = new Set<() => void>()
  #closed = false
  #counts = { adds: 0, retries: 0, done: 0, waitedMs: 0, workedMs: 0 }

  constructor(options: WorkQueueOptions) {
    this.name = options.name
    this.#clock = options.platform.clock
    this.#log = options.platform.log
    this.#retryMs = options.retryMs ?? retryMsUsual
    this.#bucket = new TokenBucket(options.retryRate ?? retryRateUsual, this.#clock.monotonicMs())
    this.#delayed = new DelayedKeys(this.#clock, key => this.add(key))
  }

  /** Number of keys that are ready. */
  get length(): number {
    return this.#ready.length
  }

  add(key: string): void {
    if (this.#closed || this.#dirty.has(key)) return
    this.#counts.adds++
    this.#dirty.set(key, this.#clock.monotonicMs())
    if (!this.#working.has(key)) this.#offer(key)
  }

  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) this.add(key)
    // Rounded up to whole milliseconds: a fractional delay could fire before the time has passed.
    else if (!this.#closed) this.#delayed.add(key, Math.ceil(delayMs))
  }

  /** Requeues a key with backoff after a failure. */
  addAgain(key: string): void {
    if (this.#closed) return
    this.#counts.retries++
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const { first, max } = this.#retryMs
    const backoff = backoffMs(failures, { initialMs: first, maxMs: max, factor: 2, jitter: 0 }, 0)
    this.addAfter(key, Math.max(backoff, this.#bucket.reserve(this.#clock.monotonicMs())))
  }

  /** Resets the backoff of a key after a success. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** Number of failures since the last success. */
  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /**
   * Waits for the next key, which the caller must pass to `done`. Undefined when the queue is closed and
   * empty.
   */
  async take(signal?: AbortSignal): Promise<string | undefined> {
    for (;;) {
      if (signal?.aborted) {
        // Passes the wakeup on, since this caller does not take the key.
        this.#wakeTaker()
        throw signal.reason
      }
      const [key] = this.#ready.take(1)
      if (key !== undefined) return this.#begin(key)
      if (this.#closed && this.#dirty.size === 0) return undefined
      await wakeUp(this.#takers, signal)
    }
  }

  done(key: string): void {
    const startedMs = this.#working.get(key)
    if (startedMs === undefined) return
    this.#working.delete(key)
    this.#counts.done++
    this.#counts.workedMs += this.#clock.monotonicMs() - startedMs
    if (this.#dirty.has(key)) this.#offer(key)
    else if (this.#closed) this.#wakeAll()
  }

  /** Rejects new keys and drops delayed ones; keys that are ready are still handed out. */
  close(): void {
    this.#closed = true
    this.#delayed.clear()
    this.#wakeAll()
  }

  /** Closes the queue; resolves when the last key is done. */
  async drain(signal?: AbortSignal): Promise<void> {
    this.close()
    while (this.#dirty.size > 0 || this.#working.size > 0) {
      signal?.throwIfAborted()
      await wakeUp(this.#drainers, signal)
    }
  }

  /**
   * Processes keys with this many workers until aborted; then closes the queue and resolves when the running
   * workers are done.
   */
  async run(options: {
    readonly workers: number
    readonly signal: AbortSignal
    readonly work: KeyWorker
  }): Promise<void> {
    const { workers, signal, work } = options
    await Promise.all(Array.from({ length: workers }, () => this.#workUntil(signal, work)))
    this.close()
  }

  /** Keys that are ready or being processed. */
  busyKeys(): readonly string[] {
    return [...new Set([...this.#working.keys(), ...this.#dirty.keys()])]
  }

  metrics(): WorkQueueMetrics {
    const oldestMs = Math.min(...this.#working.values(), this.#clock.monotonicMs())
    return {
      depth: this.#ready.length,
      delayed: this.#delayed.size,
      working: this.#working.size,
      longestWorkMs: this.#clock.monotonicMs() - oldestMs,
      ...this.#counts,
    }
  }

  async #workUntil(signal: AbortSignal, work: KeyWorker): Promise<void> {
    while (!signal.aborted) {
      const key = await this.take(signal).catch(() => undefined)
      if (key === undefined) return
      try {
        const result = await work(key, signal)
        this.forget(key)
        if (result) this.addAfter(key, result.againAfterMs)
      } catch (error) {
        this.addAgain(key)
        const failures = this.failuresOf(key)
        // A lost race is expected: the retry sees the object that won.
        const isRace = isApiError(error, 'Conflict') || (isApiError(error, 'NotFound') && failures === 1)
        const level = isRace ? 'debug' : 'warn'
        if (!signal.aborted) {
          this.#log[level]('work failed and is tried again', { queue: this.name, key, failures, error })
        }
      } finally {
        this.done(key)
      }
    }
  }

  #begin(key: string): string {
    const nowMs = this.#clock.monotonicMs()
    this.#counts.waitedMs += nowMs - (this.#dirty.get(key) ?? nowMs)
    this.#dirty.delete(key)
    this.#working.set(key, nowMs)
    return key
  }

  #offer(key: string): void {
    this.#ready.push(key)
    this.#wakeTaker()
  }

  #wakeTaker(): void {
    for (const wake of this.#takers) return wake()
  }

  #wakeAll(): void {
    for (const wake of this.#takers) wake()
    for (const wake of this.#drainers) wake()
  }
}

/** Resolves when woken or aborted; the caller checks the state again. */
function wakeUp(sleepers: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const wake = (): void => {
      sleepers.delete(wake)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    sleepers.add(wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
}
