import type { Clock, Timer } from '../platform.ts'
import { turn } from './turn.ts'

export function nodeClock(): Clock {
  const wall = wallClock()
  return {
    now: wall,
    monotonicMs: () => performance.now(),
    setTimer,
    sleep,
    turn,
  }
}

/** The last microsecond of a millisecond, as a fraction of it. */
const lastMicrosecond = 0.999

/**
 * `Date.now` knows whole milliseconds, `performance.now` knows fractions but not that somebody set the clock. The
 * answer always lies within the millisecond that `Date.now` names; where in it, the other one says.
 */
function wallClock(): () => number {
  let offset = performance.timeOrigin
  return () => {
    const millisecond = Date.now()
    const precise = offset + performance.now()
    if (precise >= millisecond && precise < millisecond + 1) return precise
    const corrected = precise < millisecond ? millisecond : millisecond + lastMicrosecond
    offset += corrected - precise
    return corrected
  }
}

/** What Node's timers can hold; past it they fire at once, so a longer delay is waited for in parts. */
const delayMaxMs = 2 ** 31 - 1

function setTimer(delayMs: number, callback: () => void): Timer {
  const due = performance.now() + delayMs
  let timeout: NodeJS.Timeout
  const arm = () => {
    timeout = setTimeout(fire, Math.min(Math.max(0, due - performance.now()), delayMaxMs))
  }
  // Node rounds delays down to whole milliseconds: a timer that comes early waits for the rest.
  const fire = () => {
    if (performance.now() < due) arm()
    else callback()
  }
  arm()
  return { cancel: () => clearTimeout(timeout) }
}

function sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = () => {
      timer.cancel()
      reject(signal?.reason)
    }
    const timer = setTimer(delayMs, () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    })
    signal?.addEventListener('abort', abort, { once: true })
  })
}
