import { offAbort, onAbort } from '#/base/abort.ts'
import type { Clock, Timer } from '../platform.ts'
import { turn } from './turn.ts'

export function nodeClock(beginWork: Clock['beginWork'] = () => undefined): Clock {
  const wall = wallClock()
  return {
    now: wall,
    monotonicMs: () => performance.now(),
    setTimer,
    sleep,
    turn,
    beginWork,
  }
}

/** The last microsecond of a millisecond, as a fraction. */
const lastMicrosecond = 0.999

/**
 * `Date.now` has millisecond resolution; `performance.now` has fractions but ignores changes of the system
 * clock. The result always lies within the millisecond of `Date.now`, with the fraction taken from
 * `performance.now`.
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

/** Maximum delay of Node's timers, above which they fire immediately; a longer delay is split. */
const delayMaxMs = 2 ** 31 - 1

function setTimer(delayMs: number, callback: () => void): Timer {
  const due = performance.now() + delayMs
  let timeout: NodeJS.Timeout
  const arm = () => {
    timeout = setTimeout(fire, Math.min(Math.max(0, due - performance.now()), delayMaxMs))
  }
  // Node rounds delays down to whole milliseconds, so a timer that fires early is set again for the rest.
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
      if (signal) offAbort(signal, abort)
      resolve()
    })
    if (signal) onAbort(signal, abort)
  })
}
