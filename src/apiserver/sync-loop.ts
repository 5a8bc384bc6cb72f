/**
 * The loop of controllers inside the API server. Keys are synced when they are added, when they are due again and
 * after failures. One key is never synced twice at the same time, and a slow key does not delay others: several are
 * synced at a time.
 */
import { untilAborted } from '#/base/abort.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { Platform, Timer } from '#/platform/platform.ts'

export interface SyncLoopOptions {
  readonly platform: Pick<Platform, 'clock' | 'log'>
  /** Logged when a sync fails; it is tried again after a growing pause. */
  readonly failureMessage: string
  /** Name of the key in the log: `apiService`. */
  readonly keyName: string
  readonly backoff: Backoff
  /** Brings a key up to date. Resolves with the time until the next sync, or undefined if only a change needs one. */
  readonly sync: (key: string, signal: AbortSignal) => Promise<number | undefined>
}

export class SyncLoop {
  readonly #options: SyncLoopOptions
  readonly #failureLog: ThrottledLog
  /** Keys to sync, in order. */
  readonly #pending = new Set<string>()
  readonly #running = new Map<string, Promise<void>>()
  /** Pauses until the next sync, by key. */
  readonly #timers = new Map<string, Timer>()
  /** Consecutive failures, by key. */
  readonly #failures = new Map<string, number>()
  #signal: AbortSignal | undefined

  constructor(options: SyncLoopOptions) {
    this.#options = options
    this.#failureLog = new ThrottledLog(options.platform)
  }

  add(key: string): void {
    this.#timers.get(key)?.cancel()
    this.#timers.delete(key)
    this.#pending.add(key)
    this.#startPending()
  }

  /** Resolves when aborted and all running syncs have ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal
    this.#startPending()
    await untilAborted(signal)
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
    await Promise.all(this.#running.values())
  }

  #startPending(): void {
    const signal = this.#signal
    if (signal === undefined || signal.aborted) return
    for (const key of this.#pending) {
      if (this.#running.size >= concurrencyMax) return
      if (this.#running.has(key)) continue
      this.#pending.delete(key)
      this.#running.set(key, this.#sync(key, signal))
    }
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const dueMs = await this.#trySync(key, signal)
    this.#running.delete(key)
    if (dueMs !== undefined && !this.#pending.has(key) && !signal.aborted) {
      this.#timers.set(
        key,
        this.#options.platform.clock.setTimer(dueMs, () => this.add(key)),
      )
    }
    this.#startPending()
  }

  async #trySync(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { sync, backoff, failureMessage, keyName } = this.#options
    try {
      const dueMs = await sync(key, signal)
      this.#failures.delete(key)
      return dueMs
    } catch (error) {
      if (signal.aborted) return undefined
      this.#failureLog.warn(key, failureMessage, { [keyName]: key, error })
      const failures = (this.#failures.get(key) ?? 0) + 1
      this.#failures.set(key, failures)
      return backoffMs(failures, backoff, 0)
    }
  }
}

/** Maximum number of keys synced at a time; most of them wait for servers that do not answer. */
const concurrencyMax = 100
