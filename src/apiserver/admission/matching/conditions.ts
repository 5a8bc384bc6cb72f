/** Evaluates the matchConditions (CEL) of webhooks and policies. */
import { LruMap } from '#/base/lru-map.ts'
import type { MatchCondition } from '#/api/generated/admissionregistration/v1.ts'
import type { Compiled } from '#/cel/compile-expression.ts'
import { ExpressionRun, CostBudgetExceeded } from '#/cel/expression-run.ts'
import type { Value } from '#/cel/value.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { UserInfo } from '../../request.ts'
import { authorizerValue, compileCondition, admissionVariables, type ExpressionInput } from './expressions.ts'

/** Cost budget of all matchConditions of one webhook or policy, as in Kubernetes. */
const costMax = 2_500_000

export interface MatchResult {
  /** False if a condition evaluated to false. */
  readonly matches: boolean
  readonly errors: readonly string[]
}

/** A single false condition excludes the request, regardless of errors in other conditions. */
export async function evaluateMatchConditions(
  conditions: readonly Compiled[],
  inputs: Readonly<Record<string, Value>>,
): Promise<MatchResult> {
  const run = new ExpressionRun({ inputs, costMax })
  const errors: string[] = []
  try {
    for (const condition of conditions) {
      const { value, error } = await run.evaluate(condition)
      if (value === false) return { matches: false, errors }
      if (error !== undefined) errors.push(error)
    }
    return { matches: true, errors }
  } catch (error) {
    if (!(error instanceof CostBudgetExceeded)) throw error
    return { matches: true, errors: [error.message] }
  }
}

/** Evaluates the matchConditions of webhooks, caching compiled expressions. */
export class MatchConditionEvaluator {
  readonly #authorizer: Authorizer
  readonly #compiled = new LruMap<string, Compiled>(compiledMax)

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  evaluate(
    conditions: readonly MatchCondition[],
    { user, ...input }: ExpressionInput & { readonly user: UserInfo },
  ): Promise<MatchResult> {
    const variables = admissionVariables(input, authorizerValue(this.#authorizer, user))
    return evaluateMatchConditions(
      conditions.map(({ expression }) => this.#program(expression)),
      variables,
    )
  }

  #program(expression: string): Compiled {
    const known = this.#compiled.get(expression)
    if (known) return known
    const made = compileCondition(expression)
    this.#compiled.set(expression, made)
    return made
  }
}

/** Maximum number of cached compiled expressions; the least recently used one is evicted. */
const compiledMax = 1_000

export function joinErrors(errors: readonly string[]): string {
  const different = [...new Set(errors)]
  return different.length === 1 ? different[0]! : `[${different.join(', ')}]`
}
