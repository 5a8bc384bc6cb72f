import { backoffMs, type Backoff } from '#/base/backoff.ts'

/** Backoff of failed tasks. */
const retry: Backoff = { initialMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0 }

export interface TasksOptions {
  readonly nowMs: () => number
  /** Called when a task has succeeded or failed. */
  readonly onEnd: () => void
  readonly onFailure: (key: string, error: unknown) => void
}

/** Failures in a row. */
interface TaskFailures {
  readonly count: number
  readonly sinceMs: number
  readonly againAtMs: number
}

/** Tasks in progress for a pod, at most one per key. Failed tasks can restart after a backoff. */
export class Tasks {
  readonly #options: TasksOptions
  readonly #running = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, TaskFailures>()

  constructor(options: TasksOptions) {
    this.#options = options
  }

  /** True if no task is in progress. */
  get isIdle(): boolean {
    return this.#running.size === 0
  }

  isRunning(key: string): boolean {
    return this.#running.has(key)
  }

  /** Resolves when none of these tasks is in progress. */
  async ended(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(key => this.#running.get(key) ?? Promise.resolve()))
  }

  /** True if the task is neither in progress nor in backoff. */
  mayBegin(key: string): boolean {
    return !this.#running.has(key) && (this.#failures.get(key)?.againAtMs ?? 0) <= this.#options.nowMs()
  }

  /** Does nothing if the task is in progress or in backoff. */
  begin(key: string, work: () => Promise<void>): void {
    if (this.mayBegin(key)) this.#running.set(key, this.#run(key, work))
  }

  /** End of the earliest backoff. */
  get againAtMs(): number {
    return Math.min(Infinity, ...[...this.#failures.values()].map(({ againAtMs }) => againAtMs))
  }

  /** Time of the first failure in a row among the tasks that fit; Infinity if none fails. */
  failingSinceMs(fits: (key: string) => boolean): number {
    const failing = [...this.#failures].filter(([key]) => fits(key))
    return Math.min(Infinity, ...failing.map(([, { sinceMs }]) => sinceMs))
  }

  /** Resets the backoff of tasks that are no longer planned. */
  keepFailures(wanted: ReadonlySet<string>): void {
    for (const key of this.#failures.keys()) if (!wanted.has(key)) this.#failures.delete(key)
  }

  async #run(key: string, work: () => Promise<void>): Promise<void> {
    // Defers the work until the caller has finished its synchronous part.
    await Promise.resolve()
    try {
      await work()
      this.#failures.delete(key)
    } catch (error) {
      const nowMs = this.#options.nowMs()
      const { count: before = 0, sinceMs = nowMs } = this.#failures.get(key) ?? {}
      const count = before + 1
      this.#failures.set(key, { count, sinceMs, againAtMs: nowMs + backoffMs(count, retry, 0) })
      this.#options.onFailure(key, error)
    } finally {
      this.#running.delete(key)
      this.#options.onEnd()
    }
  }
}
