/**
 * Several expressions about one request, one after the other, which may cost so much together. A failure is an
 * outcome, in the words of the API; only running out of budget ends the run.
 */
import { withAnswers } from './authorizer.ts'
import { type Compiled, InvalidExpression } from './compile-expression.ts'
import { Budget, expressionCostMax } from './cost.ts'
import { EvaluationError } from './evaluation-error.ts'
import type { PolicyVariables } from './policy-variables.ts'
import type { Value } from './value.ts'

export type Outcome =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string }

/** The expressions of a run would cost more than they may together. */
export class OutOfBudget extends Error {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run')
  }
}

export interface ExpressionRunOptions {
  readonly inputs: Readonly<Record<string, Value>>
  readonly costMax: number
  /** What a policy defines, evaluated at most once in a run. */
  readonly variables?: PolicyVariables
}

export class ExpressionRun {
  readonly #inputs: Readonly<Record<string, Value>>
  readonly #takeCost: () => number
  #left: number

  constructor({ inputs, costMax, variables }: ExpressionRunOptions) {
    const bound = variables?.bind(inputs)
    this.#inputs = bound?.all ?? inputs
    this.#takeCost = () => bound?.takeCost() ?? 0
    this.#left = costMax
  }

  /** What the rest may cost. */
  get costLeft(): number {
    return this.#left
  }

  /** Throws OutOfBudget. Waits only where somebody else must be asked who may do what. */
  async evaluate(program: Compiled): Promise<Outcome> {
    if (program instanceof InvalidExpression) return { error: `compilation error: ${program.message}` }
    let cost = 0
    try {
      const evaluated = withAnswers(() => {
        const budget = new Budget(expressionCostMax)
        try {
          return program.evaluate(this.#inputs, budget)
        } finally {
          cost = budget.spent
        }
      })
      const value = evaluated instanceof Promise ? await evaluated : evaluated
      this.#charge(cost)
      return { value }
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      this.#charge(cost)
      return { error: `expression '${program.expression}' resulted in error: ${error.message}` }
    }
  }

  #charge(cost: number): void {
    this.#left -= cost + this.#takeCost()
    if (this.#left < 0) throw new OutOfBudget()
  }
}
