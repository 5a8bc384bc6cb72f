/**
 * How long a container that keeps ending waits before it runs again: not at all the first time, then ten seconds, twice
 * as long each time up to five minutes; and not at all once more after it has run for ten minutes.
 */

/** The last time a container was started again. */
export interface Restart {
  readonly atMs: number
  /** How long it waits when it ends the next time. */
  readonly delayMs: number
  /** Of the spec that it was started from: another one is not to blame for it. */
  readonly hash: string
}

const firstDelayMs = 10_000
const delayMsMax = 300_000
const forgottenAfterMs = 2 * delayMsMax

/** From when on it may run again, and what to remember when it does. */
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
