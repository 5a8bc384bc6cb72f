import { backoffMs, type Backoff } from '#/base/backoff.ts'

/** How long something that failed is left alone. */
const retry: Backoff = { initialMs: 1_000, maxMs: 60_000, factor: 2, jitter: 0 }

export interface TasksOptions {
  readonly nowMs: () => number
  /** A task has ended, well or badly. */
  readonly onEnd: () => void
  readonly onFailure: (key: string, error: unknown) => void
}

/** What is under way for a pod: one thing under each key at a time. What failed may be begun again after a while. */
export class Tasks {
  readonly #options: TasksOptions
  readonly #running = new Map<string, Promise<void>>()
  readonly #failures = new Map<string, { readonly count: number; readonly againAtMs: number }>()

  constructor(options: TasksOptions) {
    this.#options = options
  }

  /** Nothing is under way. */
  get isIdle(): boolean {
    return this.#running.size === 0
  }

  isRunning(key: string): boolean {
    return this.#running.has(key)
  }

  /** Resolves when none of these is under way any more. */
  async ended(keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map(key => this.#running.get(key) ?? Promise.resolve()))
  }

  /** Neither under way, nor failed just now. */
  mayBegin(key: string): boolean {
    return !this.#running.has(key) && (this.#failures.get(key)?.againAtMs ?? 0) <= this.#options.nowMs()
  }

  /** Nothing happens when it may not begin. */
  begin(key: string, work: () => Promise<void>): void {
    if (this.mayBegin(key)) this.#running.set(key, this.#run(key, work))
  }

  /** When the first of those that failed may be begun again. */
  get againAtMs(): number {
    return Math.min(Infinity, ...[...this.#failures.values()].map(({ againAtMs }) => againAtMs))
  }

  /** What failed once is forgotten when nobody asks for it any more. */
  keepFailures(wanted: ReadonlySet<string>): void {
    for (const key of this.#failures.keys()) if (!wanted.has(key)) this.#failures.delete(key)
  }

  async #run(key: string, work: () => Promise<void>): Promise<void> {
    // Not before whoever began it has finished what it was about.
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
