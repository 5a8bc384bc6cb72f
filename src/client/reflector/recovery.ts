import { ApiError } from '#/api/errors.ts'
import { TransportError } from '../transport.ts'

export interface Failure {
  readonly error: unknown
  readonly attempt: Attempt
  /** Consecutive failures, including this one, without any data in between. */
  readonly failures: number
}

/** A watch that begins with initial events, a list, or a watch from a resourceVersion. */
export type Attempt = 'watch-list' | 'list' | 'watch'

export interface Recovery {
  /** Resume the watch from the last resourceVersion, or relist. */
  readonly begin: 'resume' | 'list'
  /** The server does not support watch-list. */
  readonly disableWatchList: boolean
  /** The Retry-After of the server. */
  readonly waitMsMin: number
}

/** After this many failures the same invalid data is expected again; a relist skips it. */
const invalidResponsesMax = 6

/** Plans the recovery after a failure. Resuming is preferred: it is cheap and loses no events. */
export function planRecovery({ error, attempt, failures }: Failure): Recovery {
  const waitMsMin = error instanceof ApiError ? (error.status.details?.retryAfterSeconds ?? 0) * 1_000 : 0
  if (attempt === 'watch-list') {
    return { begin: 'list', disableWatchList: isWatchListUnsupported(error), waitMsMin }
  }
  const begin =
    attempt === 'list' || mustRelist(error) || (isInvalidResponse(error) && failures >= invalidResponsesMax)
      ? 'list'
      : 'resume'
  return { begin, disableWatchList: false, waitMsMin }
}

/**
 * Servers before 1.32 reject watch-list, or never send the bookmark that ends the initial events. Newer ones
 * fail with 500 if their etcd is too old for it (3.4.30 and older).
 */
function isWatchListUnsupported(error: unknown): boolean {
  if (error instanceof ApiError) return [400, 422, 500].includes(error.code)
  return error instanceof TransportError && error.reason === 'stalled'
}

/**
 * True if the resourceVersion is compacted, too large or invalid for the server. Errors that are neither
 * ApiError nor TransportError were thrown by the sink, so its state is uncertain.
 */
function mustRelist(error: unknown): boolean {
  if (!(error instanceof ApiError)) return !(error instanceof TransportError)
  const isTooLarge =
    error.status.details?.causes?.some(({ reason }) => {
      return reason === 'ResourceVersionTooLarge'
    }) ?? false
  return [400, 410, 422].includes(error.code) || isTooLarge
}

function isInvalidResponse(error: unknown): boolean {
  return (
    error instanceof TransportError && (error.reason === 'invalid-response' || error.reason === 'too-large')
  )
}
