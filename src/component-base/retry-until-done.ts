/** Repeats an attempt that depends on another component, such as the API server, which may start later. */
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import type { Platform } from '#/platform/platform.ts'

export interface RetryOptions {
  readonly platform: Pick<Platform, 'clock' | 'log' | 'random'>
  readonly backoff: Backoff
  /** Logs a failure; counted from 1. */
  readonly onFailure: (error: unknown, failures: number) => void
}

/** Rejects when aborted. */
export async function retryUntilDone<T>(
  attempt: () => Promise<T>,
  { platform: { clock, random }, backoff, onFailure }: RetryOptions,
  signal: AbortSignal,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error, failures)
      await clock.sleep(backoffMs(failures, backoff, random.fraction('retry')), signal)
    }
  }
}
