/** Limits the time of a command: a signal that is aborted by Ctrl-C or after a time. */
import { LinkedAbort, onAbort } from '#/base/abort.ts'
import type { Timer } from '#/platform/platform.ts'
import { ExitError } from './errors.ts'
import type { Machine } from './factory.ts'

/** The reason of the signal once the time is over. */
export class DeadlineExceededError extends Error {
  constructor() {
    super('timed out waiting for the condition')
    this.name = 'DeadlineExceededError'
  }
}

export class Deadline implements Disposable {
  readonly #abort = new LinkedAbort(undefined)
  readonly #timer: Timer | undefined

  /** Without a time, only Ctrl-C aborts the signal. */
  constructor({ streams, platform }: Machine, timeoutMs?: number) {
    const interrupted = streams.interrupted()
    onAbort(interrupted, () => this.#abort.abort(new ExitError(1)))
    if (timeoutMs !== undefined) {
      this.#timer = platform.clock.setTimer(timeoutMs, () => this.#abort.abort(new DeadlineExceededError()))
    }
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#abort[Symbol.dispose]()
  }
}
