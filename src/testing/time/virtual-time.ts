import { Simulation } from '#/platform/simulated.ts'
import type { TestTime } from './test-time.ts'

/** Polling interval in virtual time; `quietMs` is the time for which the cluster must be idle. */
const stepMs = 100
const quietMs = 1_000

/**
 * A simulation runs in one piece, but calls of a test may overlap: the first call starts it, it runs until no
 * call is open, and `advance` and `settle` wait for that.
 */
export function virtualTime(seed: number): TestTime {
  const simulation = new Simulation({ seed })
  const open = new Set<Promise<unknown>>()
  let turn: Promise<unknown> = Promise.resolve()
  let driving: Promise<void> | undefined
  const inTurn = <T>(run: () => Promise<T>): Promise<T> => {
    const mine = turn.then(run)
    turn = mine.catch(() => undefined)
    return mine
  }
  const driveAll = async (): Promise<void> => {
    driving = undefined
    while (open.size > 0) await simulation.run(Promise.race(open))
  }
  return {
    platform: simulation.host('cluster'),
    isReal: false,
    settleMsUsual: 3_600_000,
    runUntil: async promise => {
      const caller = new Error('called')
      const settled = promise.then(
        () => void open.delete(settled),
        () => void open.delete(settled),
      )
      open.add(settled)
      driving ??= inTurn(driveAll)
      // Another turn of the simulation may settle the promise, and that turn may be waiting for this caller.
      // If the simulation itself fails, the promise never settles.
      try {
        return await Promise.race([promise, driving.then(() => promise)])
      } catch (error) {
        throw withCaller(error, caller)
      }
    },
    advance: ms => inTurn(() => simulation.advance(ms)),
    settle: (isIdle, withinMs) => {
      return inTurn(async () => {
        for (let quiet = 0, passed = 0; quiet < quietMs; passed += stepMs) {
          if (passed > withinMs) return false
          await simulation.advance(stepMs)
          quiet = isIdle() ? quiet + stepMs : 0
        }
        return true
      })
    },
  }
}

/**
 * Appends the caller's stack: an error from inside the simulation does not show which call of the test
 * failed.
 */
function withCaller(error: unknown, { stack = '' }: Error): unknown {
  if (!(error instanceof Error)) return error
  const ownLines = 2
  error.stack = [error.stack, ...stack.split('\n').slice(1 + ownLines)].join('\n')
  return error
}
