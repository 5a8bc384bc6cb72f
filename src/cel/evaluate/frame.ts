import type { Budget } from '../cost.ts'
import type { Value } from '../value.ts'

/** One evaluation: where its variables are, and what it may still cost. */
export interface Frame {
  readonly slots: (Value | undefined)[]
  readonly budget: Budget
}

/** A part of an expression, ready to run. It throws Fault, or CostExceeded when the budget is used up. */
export type Step = (frame: Frame) => Value
