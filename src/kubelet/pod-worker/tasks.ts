import { backoffMs, type Backoff } from '#/base/backoff.ts'

/** Backoff of failed tasks. */
const retry: Backoff = { initialMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0 }

export interface TasksOptions {
  readonly nowMs: () => number
  /** Called when a task has succeeded or failed. */
  readonly onEnd: () => void
  readonly onFailure: (key: string, error: unknown) => void
}

/** Tasks in progress for a pod, at most one per key. Failed tasks can restart after a backoff. */
export class Tasks {
  readonly #options: TasksOptions
  readonly #running = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, { readonly count: number; readonly againAtMs: number }>()

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
      const count = (this.#failures.get(key)?.count ?? 0) + 1
      this.#failures.set(key, { count, againAtMs: this.#options.nowMs() + backoffMs(count, retry, 0) })
      this.#options.onFailure(key, error)
    } finally {
      this.#running.delete(key)
      this.#options.onEnd()
    }
  }
}
