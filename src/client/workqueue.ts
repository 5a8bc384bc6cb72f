/**
 * Keys that wait for somebody to work on them. A key waits at most once however often it is added, and is
 * never with two workers at once: added while it is worked on, it waits until that is done. A key whose work
 * failed comes back after a time that grows with each failure. Nothing is lost: there is no bound but the
 * number of different keys, which is that of the objects they stand for.
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
  /** How long a key waits after failures, one after the other. */
  readonly retryMs?: { readonly first: number; readonly max: number }
  /** How many failed keys come back in a time, all together. */
  readonly retryRate?: BucketLimits
}

/** Works on a key. Throwing brings the key back later; so does what it returns. */
export type KeyWorker = (key: string, signal: AbortSignal) => Promise<void | Again>

export interface Again {
  readonly againAfterMs: number
}

/** All are sums or counts over the life of the queue, or of this moment: none grows with the keys. */
export interface WorkQueueMetrics {
  /** Keys that wait now. */
  readonly depth: number
  readonly delayed: number
  readonly working: number
  /** How long the longest work under way has taken. */
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
   * Keys that need work, and since when. Those that nobody is working on are in `#ready`, the others come
   * there.
   */
  readonly #dirty = new Map<string, number>()
  /** Keys that somebody works on, and since when. */
  readonly #working = new Map<string, number>()
  /** Keys for the next workers, in order: each is in `#dirty` and not in `#working`. */
  readonly #ready = new Deque<string>()
  readonly #failures = new Map<string, number>()
  /** Each wakes one `take`, in the order in which they came. */
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

  /** How many keys wait. */
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
    // In whole milliseconds: who waits for the remainder of a subtraction must not be back before time has passed.
    else if (!this.#closed) this.#delayed.add(key, Math.ceil(delayMs))
  }

  /** After a failure: the more of them, the later. */
  addAgain(key: string): void {
    if (this.#closed) return
    this.#counts.retries++
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const { first, max } = this.#retryMs
    const backoff = backoffMs(failures, { initialMs: first, maxMs: max, factor: 2, jitter: 0 }, 0)
    this.addAfter(key, Math.max(backoff, this.#bucket.reserve(this.#clock.monotonicMs())))
  }

  /** The work succeeded: the next failure is a first one. */
  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** How often the work on a key has failed since it last succeeded. */
  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /**
   * Waits for a key. Whoever gets one must say when it is done with it. Undefined when the queue is closed
   * and empty.
   */
  async take(signal?: AbortSignal): Promise<string | undefined> {
    for (;;) {
      if (signal?.aborted) {
        // The key that this one may have been woken for is somebody else's now.
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

  /** Nothing more is added, and what was to come later is dropped; what waits is still handed out. */
  close(): void {
    this.#closed = true
    this.#delayed.clear()
    this.#wakeAll()
  }

  /** Closes, and resolves when the last key is done. */
  async drain(signal?: AbortSignal): Promise<void> {
    this.close()
    while (this.#dirty.size > 0 || this.#working.size > 0) {
      signal?.throwIfAborted()
      await wakeUp(this.#drainers, signal)
    }
  }

  /**
   * Works with so many keys at a time until aborted; then no more is begun, the queue is closed, and it resolves when
   * all is done.
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

  /** Keys that wait or are worked on now. */
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
        // To lose a race is nothing special: what won is on its way, and the next try sees it.
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

/** Resolves when woken or aborted: whoever waits looks for itself what happened. */
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
