/**
 * Restart backoff (CrashLoopBackOff): the first restart is immediate, then 10 s, doubling up to 5 min; reset
 * after 10 min of running.
 */

/** Last restart of a container. */
export interface Restart {
  readonly atMs: number
  /** Delay before the next restart. */
  readonly delayMs: number
  /** Hash of the container spec; a changed spec resets the backoff. */
  readonly hash: string
}

const firstDelayMs = 10_000
const delayMsMax = 300_000
const forgottenAfterMs = 2 * delayMsMax

/** Earliest time of the restart, and the state to store when it happens. */
export function planRestart(
  last: Restart | undefined,
  ended: { readonly finishedMs: number; readonly hash: string },
  nowMs: number,
): { readonly notBeforeMs: number; readonly delayMs: number; readonly next: Restart } {
  const { finishedMs, hash } = ended
  const isKnown = last !== undefined && last.hash === hash && finishedMs - last.atMs <= forgottenAfterMs
  if (!isKnown) {
    return { notBeforeMs: finishedMs, delayMs: 0, next: { atMs: nowMs, delayMs: firstDelayMs, hash } }
  }
  const next = { atMs: nowMs, delayMs: Math.min(last.delayMs * 2, delayMsMax), hash }
  return { notBeforeMs: finishedMs + last.delayMs, delayMs: last.delayMs, next }
}
