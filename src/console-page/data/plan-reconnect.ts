/** How a list or a watch ended; `status` is that of an ApiError, absent if the connection failed. */
export interface StreamEnd {
  readonly status?: number | undefined
}

export interface Reconnect {
  readonly step: 'list' | 'watch'
  readonly delayMs: number
  /** What the user sees meanwhile. `refused` shows the error instead of items. */
  readonly phase: 'live' | 'reconnecting' | 'refused'
}

const firstDelayMs = 500
const longestDelayMs = 30_000

/**
 * Decides how a list goes on after its stream has ended. `failures` counts the ends in a row, this one included, after
 * which nothing was received.
 */
export function planReconnect(
  { status }: StreamEnd,
  { failures, isListed }: { readonly failures: number; readonly isListed: boolean },
): Reconnect {
  // Rights and resources change rarely.
  if (status === 403 || status === 404 || status === 405) {
    return { step: 'list', delayMs: longestDelayMs, phase: 'refused' }
  }
  const delayMs = failures === 0 ? 0 : Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs)
  const phase = failures <= 1 ? 'live' : 'reconnecting'
  // The version is no longer in the server's history.
  const isExpired = status === 410 || status === 400
  return { step: isExpired || !isListed ? 'list' : 'watch', delayMs, phase }
}
