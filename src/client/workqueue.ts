/**
 * A work queue of keys, as client-go's. A key is queued at most once however often it is added, and is never
 * processed by two workers at once: when added during processing, it is queued again afterwards. Failed keys
 * are requeued with exponential backoff. The queue is unbounded, since the number of keys is bounded by the
 * number of objects.
 */
import { offAbort, onAbort } from '#/base/abort.ts'
import { backoffMs } from '#/base/backoff.ts'
import { Queue } from '#/base/queue.ts'
import { TokenBucket, type BucketLimits } from '#/base/token-bucket.ts'
import { isApiError } from '#/api/errors.ts'
import type { Clock, Platform } from '#/platform/platform.ts'
import { DelayingQueue } from './delaying-queue.ts'
import type { WorkQueueMetricsProvider, WorkQueueSeries } from './workqueue-metrics.ts'

export interface WorkQueueOptions {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  /** For logs and metrics. */
  readonly name: string
  /** Backoff for each key. */
  readonly retryMs?: { readonly first: number; readonly max: number }
  /** Rate limit for all retries together. */
  readonly retryRate?: BucketLimits
  readonly metrics?: WorkQueueMetricsProvider | undefined
}

/** Processes a key. The key is requeued with backoff on an error, or after the returned delay. */
export type Reconciler = (key: string, signal: AbortSignal) => Promise<void | ReconcileResult>

export interface ReconcileResult {
  readonly requeueAfterMs: number
}

/** Totals since creation, or current values; there are none per key. */
export interface WorkQueueMetrics {
  /** Number of keys that are ready. */
  readonly depth: number
  readonly delayed: number
  readonly processing: number
  /** Processing time so far of the longest running key. */
  readonly longestRunningProcessorMs: number
  /** Sum of the processing times so far of all keys being processed. */
  readonly unfinishedWorkMs: number
  readonly adds: number
  readonly retries: number
  readonly done: number
  readonly queueDurationMs: number
  readonly workDurationMs: number
}

const retryMsUsual = { first: 5, max: 1_000_000 }
const retryRateUsual = { burst: 100, perSecond: 10 }

export class WorkQueue {
  readonly name: string
  readonly #clock: Clock
  readonly #log: Platform['log']
  readonly #retryMs: { readonly first: number; readonly max: number }
  readonly #bucket: TokenBucket
  readonly #delayed: DelayingQueue
  /**
   * Keys to process, and when they were added. They are in `#ready`, or in `#processing` and become ready
   * afterwards.
   */
  readonly #dirty = new Map<string, number>()
  /** Keys being processed, and when that began. */
  readonly #processing = new Map<string, number>()
  /** Keys for the next workers, in FIFO order: each is in `#dirty` and not in `#processing`. */
  readonly #ready = new Queue<string>()
  readonly #failures = new Map<string, number>()
  /** Wakes one pending `get` each, in FIFO order. */
  readonly #getters = new Set<() => void>()
  readonly #drainers = new Set<() => void>()
  readonly #series: WorkQueueSeries | undefined
  #isShutDown = false
  #counts = { adds: 0, retries: 0, done: 0, queueDurationMs: 0, workDurationMs: 0 }

  constructor(options: WorkQueueOptions) {
    this.name = options.name
    this.#clock = options.platform.clock
    this.#log = options.platform.log
    this.#retryMs = options.retryMs ?? retryMsUsual
    this.#bucket = new TokenBucket(options.retryRate ?? retryRateUsual, this.#clock.monotonicMs())
    this.#delayed = new DelayingQueue(this.#clock, key => this.add(key))
    this.#series = options.metrics?.seriesOf(options.name, () => this.metrics())
  }

  /** Number of keys that are ready. */
  get length(): number {
    return this.#ready.length
  }

  add(key: string): void {
    if (this.#isShutDown || this.#dirty.has(key)) return
    this.#counts.adds++
    this.#series?.adds.add()
    this.#dirty.set(key, this.#clock.monotonicMs())
    if (!this.#processing.has(key)) this.#offer(key)
  }

  addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) this.add(key)
    // Rounded up to whole milliseconds: a fractional delay could fire before the time has passed.
    else if (!this.#isShutDown) {
      this.#series?.retries.add()
      this.#delayed.add(key, Math.ceil(delayMs))
    }
  }

  /** Requeues a key with backoff after a failure. */
  addRateLimited(key: string): void {
    if (this.#isShutDown) return
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
  numRequeues(key: string): number {
    return this.#failures.get(key) ?? 0
  }

  /**
   * Waits for the next key, which the caller must pass to `done`. Undefined when the queue is shut down and
   * empty.
   */
  async get(signal?: AbortSignal): Promise<string | undefined> {
    for (;;) {
      if (signal?.aborted) {
        // Passes the wakeup on, since this caller does not get the key.
        this.#wakeGetter()
        throw signal.reason
      }
      const [key] = this.#ready.take(1)
      if (key !== undefined) return this.#begin(key)
      if (this.#isShutDown && this.#dirty.size === 0) return undefined
      await waitForWake(this.#getters, signal)
    }
  }

  done(key: string): void {
    const startedMs = this.#processing.get(key)
    if (startedMs === undefined) return
    this.#processing.delete(key)
    this.#counts.done++
    const tookMs = this.#clock.monotonicMs() - startedMs
    this.#counts.workDurationMs += tookMs
    this.#series?.workDurationSeconds.observe(tookMs / 1_000)
    if (this.#dirty.has(key)) this.#offer(key)
    else if (this.#isShutDown) this.#wakeAll()
  }

  /** Rejects new keys and drops delayed ones; keys that are ready are still handed out. */
  shutDown(): void {
    this.#isShutDown = true
    this.#delayed.clear()
    this.#wakeAll()
  }

  /** Shuts the queue down; resolves when the last key is done. */
  async shutDownWithDrain(signal?: AbortSignal): Promise<void> {
    this.shutDown()
    while (this.#dirty.size > 0 || this.#processing.size > 0) {
      signal?.throwIfAborted()
      await waitForWake(this.#drainers, signal)
    }
  }

  /**
   * Processes keys with this many workers until aborted; then shuts the queue down and resolves when the running
   * workers are done.
   */
  async run(options: {
    readonly workers: number
    readonly signal: AbortSignal
    readonly reconcile: Reconciler
  }): Promise<void> {
    const { workers, signal, reconcile } = options
    await Promise.all(Array.from({ length: workers }, () => this.#workUntil(signal, reconcile)))
    this.shutDown()
  }

  /** Keys that are ready or being processed. */
  busyKeys(): readonly string[] {
    return [...new Set([...this.#processing.keys(), ...this.#dirty.keys()])]
  }

  metrics(): WorkQueueMetrics {
    const nowMs = this.#clock.monotonicMs()
    const oldestMs = Math.min(...this.#processing.values(), nowMs)
    const unfinishedWorkMs = this.#processing.values().reduce((sum, startedMs) => sum + nowMs - startedMs, 0)
    return {
      depth: this.#ready.length,
      delayed: this.#delayed.size,
      processing: this.#processing.size,
      longestRunningProcessorMs: nowMs - oldestMs,
      unfinishedWorkMs,
      ...this.#counts,
    }
  }

  async #workUntil(signal: AbortSignal, reconcile: Reconciler): Promise<void> {
    while (!signal.aborted) {
      const key = await this.get(signal).catch(() => undefined)
      if (key === undefined) return
      try {
        const result = await reconcile(key, signal)
        this.forget(key)
        if (result) this.addAfter(key, result.requeueAfterMs)
      } catch (error) {
        this.addRateLimited(key)
        const failures = this.numRequeues(key)
        // A lost race is expected: the retry sees the object that won.
        const isRace = isApiError(error, 'Conflict') || (isApiError(error, 'NotFound') && failures === 1)
        const level = isRace ? 'debug' : 'warn'
        if (!signal.aborted) {
          this.#log[level]('Reconciler error, requeuing', { queue: this.name, key, failures, error })
        }
      } finally {
        this.done(key)
      }
    }
  }

  #begin(key: string): string {
    const nowMs = this.#clock.monotonicMs()
    const waitedMs = nowMs - (this.#dirty.get(key) ?? nowMs)
    this.#counts.queueDurationMs += waitedMs
    this.#series?.queueDurationSeconds.observe(waitedMs / 1_000)
    this.#dirty.delete(key)
    this.#processing.set(key, nowMs)
    this.#clock.beginWork('work queue', this.name)
    return key
  }

  #offer(key: string): void {
    this.#ready.push(key)
    this.#wakeGetter()
  }

  #wakeGetter(): void {
    for (const wake of this.#getters) return wake()
  }

  #wakeAll(): void {
    for (const wake of this.#getters) wake()
    for (const wake of this.#drainers) wake()
  }
}

/** Resolves when woken or aborted; the caller checks the state again. */
function waitForWake(sleepers: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise(resolve => {
    const wake = (): void => {
      sleepers.delete(wake)
      if (signal) offAbort(signal, wake)
      resolve()
    }
    sleepers.add(wake)
    if (signal) onAbort(signal, wake)
  })
}
