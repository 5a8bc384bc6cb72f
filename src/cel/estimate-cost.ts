/**
 * The estimated cost of an expression: bounds on its run-time cost that follow from the expression and from the
 * maximum sizes of its variables, before any value is known. Kubernetes computes it when an expression is
 * written, and rejects one that would be too expensive on the largest possible object. See "Resource use by
 * validation functions" in
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/.
 *
 * The estimates must equal Kubernetes', peculiarities included, because they decide which
 * CustomResourceDefinitions are valid.
 */
import type { Checked, Reference } from './check/check.ts'
import {
  isScalar,
  iterationVariables,
  joinEntries,
  literalSize,
  type CostAndSize,
  type Estimated,
  type Variable,
} from './estimate-cost/estimated.ts'
import { estimateLoop } from './estimate-cost/loop.ts'
import { sizeAt, stepInto, type Path } from './estimate-cost/path.ts'
import {
  exactly,
  product,
  sum,
  sumOf,
  union,
  unionOf,
  unknownSize,
  type Estimate,
  type Operand,
  type SizeOf,
} from './estimate.ts'
import { listCost, mapCost, selectCost, structCost } from './evaluate/costs.ts'
import type { Overload } from './function.ts'
import { optionalName } from './standard/macros.ts'
import type {
  Binding,
  Call,
  Comprehension,
  Expression,
  Identifier,
  ListExpression,
  MapExpression,
  Select,
} from './syntax.ts'
import { typeArguments } from './type.ts'

export function estimateCost(expression: Expression, checked: Checked, sizeOf: SizeOf): Estimate {
  return new CostEstimator(checked, sizeOf).estimate(expression).cost
}

const one = exactly(1)
const zero = exactly(0)

class CostEstimator {
  readonly #checked: Checked
  readonly #sizeOf: SizeOf
  /** Innermost last. */
  readonly #variables: Variable[] = []

  constructor(checked: Checked, sizeOf: SizeOf) {
    this.#checked = checked
    this.#sizeOf = sizeOf
  }

  estimate(expression: Expression): Estimated {
    switch (expression.kind) {
      case 'literal':
        return { cost: zero, size: () => literalSize(expression.value) }
      case 'identifier':
        return this.#identifier(expression)
      case 'select':
        return this.#select(expression)
      case 'call':
        return this.#call(expression)
      case 'list':
        return this.#list(expression)
      case 'map':
        return this.#map(expression)
      case 'struct': {
        const costs = expression.fields.map(({ value }) => this.estimate(value).cost)
        return { cost: sum(exactly(structCost), sumOf(costs)), size: () => undefined }
      }
      case 'comprehension':
        return this.#comprehension(expression)
      case 'binding':
        return this.#binding(expression)
    }
  }

  #identifier(expression: Identifier): Estimated {
    const local = this.#variables.findLast(({ name }) => name === expression.name)
    if (local === undefined) return this.#global(expression, this.#checked.references.get(expression)!)
    if (local.repeated !== undefined) return local.repeated
    const { path, entries } = local
    const size = () => this.#sizeByPathOrType(expression, path) ?? local.size
    return { cost: exactly(selectCost), size, entries, path }
  }

  /** A variable of the environment or a type, with or without a qualified name. */
  #global(expression: Expression, reference: Reference): Estimated {
    const path = stepInto(undefined, 'name' in reference ? reference.name : reference.value.name)
    return { cost: exactly(selectCost), size: () => this.#sizeByPathOrType(expression, path), path }
  }

  #select(expression: Select): Estimated {
    const { operand, field, mode } = expression
    const reference = this.#checked.references.get(expression)
    if (reference !== undefined) return this.#global(expression, reference)
    const target = this.estimate(operand)
    if (mode !== 'value') {
      const cost = mode === 'test' ? target.cost : sum(target.cost, exactly(selectCost))
      return { cost, size: () => this.#sizeByPathOrType(expression) }
    }
    const { kind } = this.#checked.typeOf(operand)
    const path = stepInto(target.path, field)
    return {
      cost: kind === 'map' || kind === 'object' ? sum(target.cost, exactly(selectCost)) : target.cost,
      size: () => this.#sizeByPathOrType(expression, path),
      path,
    }
  }

  #call(call: Call): Estimated {
    switch (call.name) {
      case '_&&_':
      case '_||_': {
        const costs = call.parameters.map(parameter => this.estimate(parameter).cost)
        return { cost: { min: costs[0]!.min, max: sumOf(costs).max }, size: () => one }
      }
      case '_?_:_':
        return this.#conditional(call)
      case 'dyn': {
        const argument = this.estimate(call.parameters[0]!)
        const size = argument.size()
        return { cost: sum(argument.cost, one), size: () => size, entries: argument.entries }
      }
      default:
        return this.#overloads(call)
    }
  }

  #conditional({ parameters }: Call): Estimated {
    const [condition, whenTrue, whenFalse] = parameters.map(parameter => {
      const { cost, size, entries } = this.estimate(parameter)
      return { cost, entries, size: size() ?? unknownSize }
    })
    const size = union(whenTrue!.size, whenFalse!.size)
    return {
      cost: sum(condition!.cost, union(whenTrue!.cost, whenFalse!.cost)),
      size: () => size,
      entries: joinEntries(whenTrue!.entries, whenFalse!.entries),
    }
  }

  /** Covers all overloads that may be called. */
  #overloads(call: Call): Estimated {
    const { overloads, hasTarget } = this.#checked.calls.get(call)!
    const parameters = call.parameters.map(parameter => this.#operand(parameter))
    const operands = hasTarget ? [this.#operand(call.target!), ...parameters] : parameters
    const costs = overloads.map(({ estimatedCost }) => estimatedCost(...operands))
    const [first, second] = operands
    return {
      cost: sum(sumOf(operands.map(({ estimated }) => estimated.cost)), unionOf(costs)),
      entries:
        call.name === '_+_' ? joinEntries(first?.estimated.entries, second?.estimated.entries) : undefined,
      ...this.#resultOf(call, overloads, operands),
    }
  }

  #resultOf(
    call: Call,
    overloads: readonly Overload[],
    operands: readonly EstimatedOperand[],
  ): Pick<Estimated, 'size' | 'path'> {
    let size: Estimate | undefined
    let path: Path | undefined
    for (const { name, parameters, resultSize } of overloads) {
      const result = resultSize?.(...operands)
      if (result !== undefined) size = size === undefined ? result : union(size, result)
      const container = name === '_[_]' ? parameters[0]?.kind : undefined
      if (container === 'list' || container === 'map') {
        const { estimated } = operands[0]!
        path = stepInto(estimated.path, container === 'list' ? '@items' : '@values')
        size = estimated.entries?.value ?? size
      }
      size ??= this.#sizeByPathOrType(call, path)
    }
    return { size: () => size, path }
  }

  #operand(expression: Expression): EstimatedOperand {
    const estimated = this.estimate(expression)
    const type = this.#checked.typeOf(expression)
    const knownSize = estimated.size()
    const elementSize = sizeAt(estimated.path, this.#sizeOf, '@items') ?? unknownSize
    return {
      estimated,
      type,
      knownSize,
      size: knownSize ?? unknownSize,
      elementSize: typeArguments(type).length > 0 ? elementSize : undefined,
      ...(expression.kind === 'literal' ? { literal: expression.value } : {}),
    }
  }

  #list({ elements }: ListExpression): Estimated {
    const values = elements.map(({ value }) => this.#costAndSize(value))
    return {
      cost: sum(exactly(listCost), sumOf(values.map(({ cost }) => cost))),
      size: () => exactly(elements.length),
      entries: { kind: 'list', key: one, value: unionOf(values.map(({ size }) => size)) },
    }
  }

  #map({ entries }: MapExpression): Estimated {
    const pairs = entries.map(entry => {
      const key = this.estimate(entry.key)
      const value = this.#costAndSize(entry.value)
      return { key: { cost: key.cost, size: key.size() ?? unknownSize }, value }
    })
    return {
      cost: sum(exactly(mapCost), sumOf(pairs.map(({ key, value }) => sum(key.cost, value.cost)))),
      size: () => exactly(entries.length),
      entries: {
        kind: 'map',
        key: unionOf(pairs.map(({ key }) => key.size)),
        value: unionOf(pairs.map(({ value }) => value.size)),
      },
    }
  }

  #comprehension({ operator, range, variables, condition, body }: Comprehension): Estimated {
    const source = this.estimate(range)
    const scope = iterationVariables(source, this.#checked.typeOf(range), variables)
    const [conditionCost, item] = this.#within(scope, () => {
      return [condition && this.estimate(condition).cost, this.#costAndSize(body)] as const
    })
    const count = source.size() ?? unknownSize
    const { once, turn, result } = estimateLoop(operator, { condition: conditionCost, body: item.cost })
    return {
      cost: sum(source.cost, once, product(count, turn)),
      size: () => (result === 'scalar' ? one : count),
      entries: result === 'list' ? { kind: 'list', key: one, value: union(zero, item.size) } : undefined,
    }
  }

  /** A binding is a fold over an empty list. */
  #binding({ name, value, body }: Binding): Estimated {
    const bound = this.estimate(value)
    if (name === optionalName) return this.#within([{ name, repeated: bound }], () => this.estimate(body))
    const variable = { name, path: bound.path, size: bound.size(), entries: bound.entries }
    const { cost, size, entries } = this.#within([variable], () => {
      const estimated = this.estimate(body)
      return { ...estimated, size: estimated.size() }
    })
    return { cost: sum(exactly(listCost), bound.cost, cost), size: () => size, entries }
  }

  #within<T>(variables: readonly Variable[], action: () => T): T {
    this.#variables.push(...variables)
    const result = action()
    this.#variables.length -= variables.length
    return result
  }

  #costAndSize(expression: Expression): CostAndSize {
    const { cost, size } = this.estimate(expression)
    return { cost, size: size() ?? unknownSize }
  }

  #sizeByPathOrType(expression: Expression, path?: Path): Estimate | undefined {
    return sizeAt(path, this.#sizeOf) ?? (isScalar(this.#checked.typeOf(expression)) ? one : undefined)
  }
}

interface EstimatedOperand extends Operand {
  readonly estimated: Estimated
}
