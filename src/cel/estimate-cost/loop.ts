/** Estimated costs of comprehensions, which are those of CEL's fold: accumulator, condition, step and result. */
import { exactly, sum, union, type Estimate } from '../estimate.ts'
import { listCost, mapCost, selectCost } from '../evaluate/costs.ts'
import type { ComprehensionOperator } from '../syntax.ts'

interface LoopCost {
  /** Creating the accumulator and returning it. */
  readonly once: Estimate
  readonly turn: Estimate
  readonly result: 'scalar' | 'list' | 'map'
}

interface TurnCosts {
  /** Of the filter; undefined if there is none. */
  readonly condition: Estimate | undefined
  readonly body: Estimate
}

const accumulator = exactly(selectCost)
const call = exactly(1)

export function estimateLoop(operator: ComprehensionOperator, { condition, body }: TurnCosts): LoopCost {
  switch (operator) {
    case 'all':
      return { once: accumulator, turn: sum(call, accumulator, logical(body)), result: 'scalar' }
    case 'exists':
      return { once: accumulator, turn: sum(call, call, accumulator, logical(body)), result: 'scalar' }
    case 'existsOne': {
      const count = union(sum(call, accumulator), accumulator)
      return { once: sum(call, accumulator), turn: sum(body, count), result: 'scalar' }
    }
    case 'map':
    case 'filter':
    case 'transformList': {
      const append = sum(call, accumulator, exactly(listCost), body)
      const once = sum(exactly(listCost), accumulator)
      return { once, turn: filtered(condition, append), result: 'list' }
    }
    case 'transformMap':
    case 'transformMapEntry': {
      const key = exactly(operator === 'transformMap' ? selectCost : 0)
      const insert = sum(call, accumulator, key, body)
      return { once: sum(exactly(mapCost), accumulator), turn: filtered(condition, insert), result: 'map' }
    }
  }
}

/** The accumulator and, if it does not decide, the body. */
function logical(body: Estimate): Estimate {
  return { min: accumulator.min, max: sum(accumulator, body).max }
}

function filtered(condition: Estimate | undefined, step: Estimate): Estimate {
  return condition === undefined ? step : sum(condition, union(step, accumulator))
}
