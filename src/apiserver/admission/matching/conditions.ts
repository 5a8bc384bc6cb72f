/** Conditions in CEL that narrow down which writes a webhook or a policy hears of. */
import { LruMap } from '#/base/lru-map.ts'
import type { MatchCondition } from '#/api/generated/admissionregistration/v1.ts'
import type { Compiled } from '#/cel/compile-expression.ts'
import { ExpressionRun, OutOfBudget } from '#/cel/expression-run.ts'
import type { Value } from '#/cel/value.ts'
import type { Authorizer } from '../../authz/authorizer.ts'
import type { UserInfo } from '../../request.ts'
import { authorizerValue, compileCondition, variablesOf, type ExpressionInput } from './expressions.ts'

/** What all conditions of one owner may cost together, as in Kubernetes. */
const costMax = 2_500_000

export interface ConditionsVerdict {
  /** False when one of them does not hold. */
  readonly matches: boolean
  readonly errors: readonly string[]
}

/** One condition that does not hold is enough, whatever is wrong with others. */
export async function evaluateConditions(
  conditions: readonly Compiled[],
  inputs: Readonly<Record<string, Value>>,
): Promise<ConditionsVerdict> {
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
    if (!(error instanceof OutOfBudget)) throw error
    return { matches: true, errors: [error.message] }
  }
}

/** Those of webhooks. */
export class ConditionEvaluator {
  readonly #authorizer: Authorizer
  readonly #compiled = new LruMap<string, Compiled>(compiledMax)

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
  }

  evaluate(
    conditions: readonly MatchCondition[],
    { user, ...input }: ExpressionInput & { readonly user: UserInfo },
  ): Promise<ConditionsVerdict> {
    const variables = variablesOf(input, authorizerValue(this.#authorizer, user))
    return evaluateConditions(
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

/** Expressions kept compiled; the one that was not used for longest is compiled again when it is. */
const compiledMax = 1_000

/** Several errors as one text. */
export function joinErrors(errors: readonly string[]): string {
  const different = [...new Set(errors)]
  return different.length === 1 ? different[0]! : `[${different.join(', ')}]`
}
