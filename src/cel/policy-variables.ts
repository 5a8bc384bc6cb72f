/**
 * Variables of a policy, `variables.replicas`. Each can use the preceding ones. A variable is evaluated
 * lazily on first use, so an unused one costs nothing and cannot fail.
 */
import { type Compiled, compileExpression, InvalidExpression } from './compile-expression.ts'
import { Budget, expressionCostMax } from './cost.ts'
import type { Environment } from './environment.ts'
import { EvaluationError } from './evaluation-error.ts'
import { Fault } from './fault.ts'
import { dynType, listOf, mapOf, objectOf, type ObjectType, type Type } from './type.ts'
import { ObjectValue, type Value } from './value.ts'

export interface VariableDefinition {
  readonly name: string
  readonly expression: string
}

export class PolicyVariables {
  readonly #types = new Map<string, Type>()
  readonly #programs = new Map<string, Compiled>()
  /**
   * Type of the variable `variables`. Later definitions become visible to expressions compiled after them.
   */
  readonly type: Type = objectOf({
    name: 'kubernetes.variables',
    field: name => this.#types.get(name),
  })

  /**
   * Adds a variable, compiled in an environment where `variables` has this type. A compile error is returned,
   * and also reported on use.
   */
  define({ name, expression }: VariableDefinition, environment: Environment): Compiled {
    const compiled = compileExpression(expression, environment)
    this.#types.set(name, compiled instanceof InvalidExpression ? dynType : visibleType(compiled.type))
    this.#programs.set(name, compiled)
    return compiled
  }

  /** The variables for one request, with the cost of evaluating them. */
  bind(others: Readonly<Record<string, Value>>): BoundVariables {
    const { type } = this.type as { readonly type: ObjectType }
    return new BoundVariables(type, this.#programs, others)
  }
}

export class BoundVariables extends ObjectValue {
  override readonly type: ObjectType
  /** All variables of expressions: those passed to `bind`, and `variables`. */
  readonly all: Readonly<Record<string, Value>>
  readonly #programs: ReadonlyMap<string, Compiled>
  readonly #values = new Map<string, Value | Fault>()
  #cost = 0

  constructor(
    type: ObjectType,
    programs: ReadonlyMap<string, Compiled>,
    others: Readonly<Record<string, Value>>,
  ) {
    super()
    this.type = type
    this.#programs = programs
    this.all = { ...others, variables: this }
  }

  /** The cost since the last call. */
  takeCost(): number {
    const cost = this.#cost
    this.#cost = 0
    return cost
  }

  override field(name: string): Value | undefined {
    const program = this.#programs.get(name)
    if (program === undefined) return undefined
    let value = this.#values.get(name)
    if (value === undefined) this.#values.set(name, (value = this.#evaluate(name, program)))
    if (value instanceof Fault) throw value
    return value
  }

  override names(): Iterable<string> {
    return this.#programs.keys()
  }

  #evaluate(name: string, program: Compiled): Value | Fault {
    const variable = `composited variable ${JSON.stringify(name)}`
    if (program instanceof InvalidExpression)
      return new Fault(`${variable} fails to compile: ${program.message}`)
    const budget = new Budget(expressionCostMax)
    try {
      const value = program.evaluate(this.all, budget)
      this.#cost += budget.spent
      return value
    } catch (error) {
      // A Suspension is neither a value nor a fault: the variable is evaluated again.
      if (!(error instanceof EvaluationError)) throw error
      this.#cost += budget.spent
      return new Fault(`${variable} fails to evaluate: ${error.message}`)
    }
  }
}

/** Types with fields become dyn for users of the variable, as in Kubernetes. */
function visibleType(type: Type): Type {
  if (type.kind === 'list') return listOf(visibleType(type.element))
  if (type.kind === 'map') return mapOf(visibleType(type.key), visibleType(type.value))
  return simpleKinds.has(type.kind) ? type : dynType
}

const simpleKinds: ReadonlySet<string> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'int',
  'null',
  'string',
  'timestamp',
  'uint',
])
