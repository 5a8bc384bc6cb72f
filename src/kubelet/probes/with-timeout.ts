import type { Clock } from '#/platform/platform.ts'

export interface Limits {
  readonly clock: Clock
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Timeout. */
export class TimeoutError extends Error {
  constructor() {
    super('context deadline exceeded')
    this.name = 'TimeoutError'
  }
}

/** Runs abortable work; throws TimeoutError on timeout. */
export async function withTimeout<T>(
  { clock, timeoutMs, signal }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted()
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  const timer = clock.setTimer(timeoutMs, () => controller.abort(new TimeoutError()))
  try {
    return await work(controller.signal)
  } finally {
    timer.cancel()
    signal.removeEventListener('abort', abort)
  }
}
