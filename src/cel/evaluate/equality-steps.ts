import { lookupCost, sizeOf, traversalFactor } from '../cost.ts'
import { equals } from '../equality.ts'
import { Fault } from '../fault.ts'
import { ListValue, MapValue, ObjectValue, type Value } from '../value.ts'
import type { Frame, Step } from './frame.ts'

/** `==` and `!=`. */
export function compileEquality([left, right]: readonly Step[], expected: boolean): Step {
  return frame => {
    const [a, b] = [left!(frame), right!(frame)]
    frame.budget.charge(Math.max(1, Math.ceil(Math.min(sizeOf(a), sizeOf(b)) * traversalFactor)))
    return equalsWithin(frame, a, b) === expected
  }
}

/** `x in list` and `key in map`. */
export function compileMembership([element, container]: readonly Step[]): Step {
  return frame => {
    const [sought, within] = [element!(frame), container!(frame)]
    if (within instanceof ListValue) {
      frame.budget.charge(Math.max(1, within.size))
      const elementCost = lookupCost(sought) - 1
      for (const each of within) {
        if (elementCost > 0) frame.budget.charge(elementCost)
        if (equalsWithin(frame, sought, each)) return true
      }
      return false
    }
    frame.budget.charge(lookupCost(sought))
    if (within instanceof MapValue) return within.get(sought) !== undefined
    if (within instanceof ObjectValue && typeof sought === 'string') return within.field(sought) !== undefined
    throw new Fault('no such overload')
  }
}

function equalsWithin(frame: Frame, a: Value, b: Value): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return equals(a, b)
  return equals(a, b, cost => frame.budget.charge(cost))
}
