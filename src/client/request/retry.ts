import { parseRetryAfter } from './response-error.ts'

/** How often one request is sent again. */
const retriesMax = 10

/** A server that asks for more patience than this is left to whoever made the request. */
const waitMsMax = 30_000

export interface RetryableAnswer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** How often the request has been sent before. */
  readonly retries: number
}

/**
 * How long to wait before sending a request again; undefined when the answer stands. A server that is busy,
 * or not ready, and says when to come back has not done anything yet, so every verb may be repeated.
 */
export function planRetry({ status, retryAfter, retries }: RetryableAnswer): number | undefined {
  if (status !== 429 && status !== 503) return undefined
  const seconds = parseRetryAfter(retryAfter)
  if (seconds === undefined || retries >= retriesMax) return undefined
  const waitMs = seconds * 1_000
  return waitMs > waitMsMax ? undefined : waitMs
}
