/** Steps of the start of an API server, which a store that is briefly unavailable must not end. */
import { isApiError } from '#/api/errors.ts'
import type { Platform } from '#/platform/platform.ts'
import { StoreError } from '#/store/store.ts'

/** Retries while the store is unavailable, e.g. during a leader election. `work` must be idempotent. */
export async function whenAvailable(
  { clock, log }: Platform,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const isLater = isApiError(error, 'ServiceUnavailable') || isApiError(error, 'Timeout')
      const cause = isApiError(error) ? error.cause : error
      const isUnavailable = cause instanceof StoreError && ['unavailable', 'full'].includes(cause.reason)
      if (signal.aborted || !(isLater || isUnavailable)) throw error
      log.warn('store unavailable, retrying bootstrap', { error })
      await clock.sleep(storeRetryMs, signal)
    }
  }
}

const storeRetryMs = 500
