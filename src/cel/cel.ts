/**
 * The Common Expression Language as Kubernetes uses it: admission policies, match conditions, CRD validation
 * rules, device selectors, and structured authentication and authorization.
 *
 *     const environment = new Environment({ variables: { object: dynType }, libraries })
 *     const program = compile('object.spec.replicas <= 5', environment)
 *     program.evaluate({ object: fromJson(pod, dynType) }, new Budget(expressionCostMax))
 *
 * An expression is parsed and checked once and evaluated many times, synchronously. Integers are exact,
 * regular expressions take linear time, and the cost budget stops an expression at the same step on every
 * machine. There is no clock, no randomness and no protobuf messages.
 */
import { CelError } from './cel-error.ts'
import { check } from './check/check.ts'
import { type Budget, CostExceeded } from './cost.ts'
import type { Environment } from './environment.ts'
import { estimateCost } from './estimate-cost.ts'
import type { Estimate, SizeOf } from './estimate.ts'
import { compile as compileSteps } from './evaluate/compile.ts'
import { EvaluationError } from './evaluation-error.ts'
import { Fault } from './fault.ts'
import { parse } from './parse/parse.ts'
import type { Type } from './type.ts'
import type { Value } from './value.ts'

/** A compiled expression. */
export interface Program {
  readonly expression: string
  /** Result type; dyn if it is known only at run time. */
  readonly type: Type
  /** The variables that the expression uses; the rest need not be passed. */
  readonly variables: ReadonlySet<string>
  /** Throws EvaluationError. A variable that is used but not passed fails where it is used. */
  evaluate(variables: Readonly<Record<string, Value>>, budget: Budget): Value
  /** Bounds on the cost of an evaluation with variables of at most the given sizes. */
  estimateCost(sizeOf: SizeOf): Estimate
}

/** Throws CelError if the expression has a syntax error or does not type-check. */
export function compile(expression: string, environment: Environment): Program {
  const tree = parse(expression, (...key) => environment.findMacro(...key))
  const checked = check(tree, environment)
  if (checked.issues.length > 0) throw new CelError(expression, checked.issues)
  const run = compileSteps(tree, checked)
  const { type, variables: used } = checked
  return {
    expression,
    type,
    variables: new Set(used.keys()),
    evaluate: (variables, budget) => {
      const slots: (Value | undefined)[] = []
      for (const [name, slot] of used) {
        if (Object.hasOwn(variables, name)) slots[slot] = variables[name]
      }
      try {
        return run({ slots, budget })
      } catch (error) {
        if (error instanceof Fault) throw new EvaluationError(error.message, 'fault')
        if (error instanceof CostExceeded) throw new EvaluationError(error.message, 'cost')
        throw error
      }
    },
    estimateCost: sizeOf => estimateCost(tree, checked, sizeOf),
  }
}
