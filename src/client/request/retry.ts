import { parseRetryAfter } from './response-error.ts'

/** Maximum number of retries of one request. */
const retriesMax = 10

/** A longer Retry-After is not awaited: the error is returned to the caller. */
const waitMsMax = 30_000

export interface RetryableResponse {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Number of times the request has already been retried. */
  readonly retries: number
}

/**
 * Delay before the request is retried; undefined when the response is final. A server that is overloaded or
 * not ready and sends Retry-After has not processed the request, so every verb may be retried.
 */
export function planRetry({ status, retryAfter, retries }: RetryableResponse): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  const seconds = parseRetryAfter(retryAfter)
  if (seconds === undefined || retries >= retriesMax) return undefined
  const waitMs = seconds * 1_000
  return waitMs > waitMsMax ? undefined : waitMs
}
