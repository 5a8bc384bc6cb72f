/**
 * Evaluates several expressions for one request in sequence, with a shared cost limit. A failure is an
 * outcome with Kubernetes' message; only an exhausted budget aborts the run.
 */
import { withDecisions } from './authorizer.ts'
import { type Compiled, InvalidExpression } from './compile-expression.ts'
import { Budget, expressionCostMax } from './cost.ts'
import { EvaluationError } from './evaluation-error.ts'
import type { PolicyVariables } from './policy-variables.ts'
import type { Value } from './value.ts'

export type Outcome =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string }

/** The shared cost limit of the run is exceeded. */
export class CostBudgetExceeded extends Error {
  constructor() {
    super('validation failed due to running out of cost budget, no further validation rules will be run')
  }
}

export interface ExpressionRunOptions {
  readonly inputs: Readonly<Record<string, Value>>
  readonly costMax: number
  /** Variables of a policy, each evaluated at most once per run. */
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

  /** Remaining cost. */
  get costLeft(): number {
    return this.#left
  }

  /** Throws CostBudgetExceeded. Asynchronous only if an authorization check is. */
  async evaluate(program: Compiled): Promise<Outcome> {
    if (program instanceof InvalidExpression) return { error: `compilation error: ${program.message}` }
    let cost = 0
    try {
      const evaluated = withDecisions(() => {
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
    if (this.#left < 0) throw new CostBudgetExceeded()
  }
}
