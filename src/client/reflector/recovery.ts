import { ApiError } from '#/api/errors.ts'
import { TransportError } from '../transport.ts'

export interface Failure {
  readonly error: unknown
  readonly attempt: Attempt
  /** Failures one after the other, this one included, without anything coming in between. */
  readonly failures: number
}

/** What was tried: a watch that begins with everything, a list, or a watch that goes on from a version. */
export type Attempt = 'streaming-list' | 'list' | 'watch'

export interface Recovery {
  /** Go on from where the watch was, or begin again with everything there is. */
  readonly begin: 'resume' | 'list'
  /** The server does not know how to begin a watch with everything. */
  readonly giveUpStreaming: boolean
  /** The server asked for so much patience. */
  readonly waitMsMin: number
}

/** After so many the same garbage will come again: a list goes around it. */
const garbageMax = 6

/** What to do after something went wrong. Resuming is always tried first: it is cheap and loses nothing. */
export function planRecovery({ error, attempt, failures }: Failure): Recovery {
  const waitMsMin = error instanceof ApiError ? (error.status.details?.retryAfterSeconds ?? 0) * 1_000 : 0
  if (attempt === 'streaming-list') {
    return { begin: 'list', giveUpStreaming: isUnknownToServer(error), waitMsMin }
  }
  const begin =
    attempt === 'list' || isLost(error) || (isGarbage(error) && failures >= garbageMax) ? 'list' : 'resume'
  return { begin, giveUpStreaming: false, waitMsMin }
}

/** Servers before 1.32 refuse to send what exists, or never say that they have sent all of it. */
function isUnknownToServer(error: unknown): boolean {
  if (error instanceof ApiError) return error.code === 400 || error.code === 422
  return error instanceof TransportError && error.reason === 'stalled'
}

/**
 * The server does not have the version any more, or not yet, or takes it for none. What is no error of the
 * API nor of the way to it was thrown by the sink, and what the sink then knows is not certain.
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
