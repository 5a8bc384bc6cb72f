import { ApiError } from '#/api/errors.ts'
import { TransportError } from '../transport.ts'

export interface Failure {
  readonly error: unknown
  readonly attempt: Attempt
  /** Consecutive failures, including this one, without any data in between. */
  readonly failures: number
}

/** A watch that begins with initial events, a list, or a watch from a resourceVersion. */
export type Attempt = 'streaming-list' | 'list' | 'watch'

export interface Recovery {
  /** Resume the watch from the last resourceVersion, or relist. */
  readonly begin: 'resume' | 'list'
  /** The server does not support streaming lists. */
  readonly giveUpStreaming: boolean
  /** The Retry-After of the server. */
  readonly waitMsMin: number
}

/** After this many failures the same invalid data is expected again; a relist skips it. */
const garbageMax = 6

/** Plans the recovery after a failure. Resuming is preferred: it is cheap and loses no events. */
export function planRecovery({ error, attempt, failures }: Failure): Recovery {
  const waitMsMin = error instanceof ApiError ? (error.status.details?.retryAfterSeconds ?? 0) * 1_000 : 0
  if (attempt === 'streaming-list') {
    return { begin: 'list', giveUpStreaming: isUnknownToServer(error), waitMsMin }
  }
  const begin =
    attempt === 'list' || isLost(error) || (isGarbage(error) && failures >= garbageMax) ? 'list' : 'resume'
  return { begin, giveUpStreaming: false, waitMsMin }
}

/** Servers before 1.32 reject streaming lists, or never send the bookmark that ends the initial events. */
function isUnknownToServer(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 400 || error.code === 422
  return error instanceof TransportError && error.reason === 'stalled'
}

/**
 * True if the resourceVersion is compacted, too large or invalid for the server. Errors that are neither
 * ApiError nor TransportError were thrown by the sink, so its state is uncertain.
 */
function isLost(error: unknown): boolean {
  if (!(error instanceof ApiError)) return !(error instanceof TransportError)
  const isTooLarge =
    error.status.details?.causes?.some(({ reason }) => {
      return reason === 'ResourceVersionTooLarge'
    }) ?? false
  return [400, 410, 422].includes(error.code) || isTooLarge
}

function isGarbage(error: unknown): boolean {
  return error instanceof TransportError && (error.reason === 'garbage' || error.reason === 'too-large')
}
