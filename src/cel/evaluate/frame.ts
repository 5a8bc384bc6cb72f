import type { Budget } from '../cost.ts'
import type { Value } from '../value.ts'

/** State of one evaluation: variable slots and the budget. */
export interface Frame {
  readonly slots: (Value | undefined)[]
  readonly budget: Budget
}

/** A compiled node. Throws Fault, or CostExceeded if the budget is exhausted. */
export type Step = (frame: Frame) => Value
