/**
 * `&&`, `||` and `?:`. A fault on one side of `&&` or `||` is ignored if the other side decides, in any
 * order.
 */
import { Fault } from '../fault.ts'
import type { Frame, Step } from './frame.ts'

export function compileAll(terms: readonly Step[]): Step {
  return frame => decide(terms, frame, false)
}

export function compileAny(terms: readonly Step[]): Step {
  return frame => decide(terms, frame, true)
}

export function compileConditional([condition, whenTrue, whenFalse]: readonly Step[]): Step {
  return frame => {
    const value = condition!(frame)
    if (typeof value !== 'boolean') throw new Fault('no such overload')
    return value ? whenTrue!(frame) : whenFalse!(frame)
  }
}

/** The boolean result of a step, or its fault. */
export function evaluateBoolean(step: Step, frame: Frame): boolean | Fault {
  try {
    const value = step(frame)
    return typeof value === 'boolean' ? value : new Fault('no such overload')
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    frame.budget.charge(faultCost)
    return error
  }
}

/** Free in Kubernetes; here a fault takes as long as several steps. */
const faultCost = 10

function decide(terms: readonly Step[], frame: Frame, decisive: boolean): boolean {
  let fault: Fault | undefined
  for (const term of terms) {
    const outcome = evaluateBoolean(term, frame)
    if (outcome === decisive) return decisive
    if (typeof outcome !== 'boolean') fault ??= outcome
  }
  if (fault !== undefined) throw fault
  return !decisive
}
