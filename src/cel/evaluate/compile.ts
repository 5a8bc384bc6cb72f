/** Compiles a checked tree to closures, one for each node, so that nothing is looked up at run time. */
import type { Checked } from '../check/check.ts'
import { lookupCost, sizeOf, traversalFactor } from '../cost.ts'
import { equals } from '../equality.ts'
import { Fault } from '../fault.ts'
import type { Binding, Call, Expression, Select } from '../syntax.ts'
import { ListValue, MapValue, ObjectValue, Optional, optionalOfValue, type Value } from '../value.ts'
import { compileList, compileMap, compileStruct, constantOf } from './aggregates.ts'
import { compileComprehension } from './comprehensions.ts'
import { selectCost } from './costs.ts'
import { compileDispatch } from './dispatch.ts'
import type { Frame, Step } from './frame.ts'
import { compileAll, compileAny, compileConditional } from './logic.ts'

export function compile(expression: Expression, checked: Checked): Step {
  return new Compiler(checked).compile(expression)
}

class Compiler {
  readonly #checked: Checked

  constructor(checked: Checked) {
    this.#checked = checked
  }

  readonly compile = (expression: Expression): Step => {
    switch (expression.kind) {
      case 'literal': {
        const { value } = expression
        return () => value
      }
      case 'identifier':
        return this.#reference(expression)
      case 'select':
        return this.#checked.references.has(expression)
          ? this.#reference(expression)
          : this.#select(expression)
      case 'call':
        return this.#call(expression)
      case 'list':
      case 'map': {
        const constant = constantOf(expression)
        if (constant !== undefined) return () => constant
        return expression.kind === 'list'
          ? compileList(expression, this.compile)
          : compileMap(expression, this.compile)
      }
      case 'struct':
        return compileStruct(expression, this.#checked.constructors.get(expression)!, this.compile)
      case 'comprehension':
        return compileComprehension(expression, this.#checked.slots.get(expression)!, this.compile)
      case 'binding':
        return this.#binding(expression)
    }
  }

  #reference(expression: Expression): Step {
    const reference = this.#checked.references.get(expression)!
    if ('value' in reference) {
      const { value } = reference
      return () => value
    }
    const { slot, name } = reference
    return frame => {
      frame.budget.charge(selectCost)
      const value = frame.slots[slot]
      if (value === undefined) throw new Fault(`no such attribute(s): ${name}`)
      return value
    }
  }

  #select({ operand, field, mode }: Select): Step {
    const step = this.compile(operand)
    if (mode === 'test') return frame => hasField(step(frame), field)
    if (mode === 'optional') {
      return frame => {
        const target = step(frame)
        frame.budget.charge(selectCost)
        const found = selectField(target, field)
        return target instanceof Optional && found instanceof Optional ? found : optionalOfValue(found)
      }
    }
    return frame => {
      const target = step(frame)
      frame.budget.charge(selectCost)
      const value = selectField(target, field)
      if (value === undefined) throw new Fault(`no such key: ${field}`)
      return value
    }
  }

  #call(call: Call): Step {
    switch (call.name) {
      case '_&&_':
        return compileAll(call.parameters.map(this.compile))
      case '_||_':
        return compileAny(call.parameters.map(this.compile))
      case '_?_:_':
        return compileConditional(call.parameters.map(this.compile))
      case '_==_':
      case '_!=_':
        return compileEquality(call.parameters.map(this.compile), call.name === '_==_')
      case '@in':
        return compileMembership(call.parameters.map(this.compile))
      default: {
        const { overloads, hasTarget } = this.#checked.calls.get(call)!
        const operands = hasTarget ? [call.target!, ...call.parameters] : call.parameters
        return compileDispatch(call.name, overloads, operands.map(this.compile))
      }
    }
  }

  #binding(binding: Binding): Step {
    const [slot = 0] = this.#checked.slots.get(binding)!
    const [value, body] = [this.compile(binding.value), this.compile(binding.body)]
    return frame => {
      frame.slots[slot] = value(frame)
      return body(frame)
    }
  }
}

function hasField(target: Value, field: string): boolean {
  const found = selectField(target, field)
  return target instanceof Optional && found instanceof Optional
    ? found.value !== undefined
    : found !== undefined
}

/** `==` and `!=`. */
function compileEquality([left, right]: readonly Step[], expected: boolean): Step {
  return frame => {
    const [a, b] = [left!(frame), right!(frame)]
    frame.budget.charge(Math.max(1, Math.ceil(Math.min(sizeOf(a), sizeOf(b)) * traversalFactor)))
    return equalsWithin(frame, a, b) === expected
  }
}

/** `x in list` and `key in map`. */
function compileMembership([element, container]: readonly Step[]): Step {
  return frame => {
    const [sought, within] = [element!(frame), container!(frame)]
    if (within instanceof ListValue) {
      frame.budget.charge(Math.max(1, within.size))
      const elementCost = lookupCost(sought) - 1
      for (const each of within) {
        if (elementCost > 0) frame.budget.charge(elementCost)
        if (equalsWithin(frame, sought, each)) return true
      }
      return false
    }
    frame.budget.charge(lookupCost(sought))
    if (within instanceof MapValue) return within.get(sought) !== undefined
    if (within instanceof ObjectValue && typeof sought === 'string') return within.field(sought) !== undefined
    throw new Fault('no such overload')
  }
}

function equalsWithin(frame: Frame, a: Value, b: Value): boolean {
  if (typeof a !== 'object' || typeof b !== 'object') return equals(a, b)
  return equals(a, b, cost => frame.budget.charge(cost))
}

/**
 * The field of an object or the value of a map key; undefined if absent. Selecting from an optional gives an
 * optional.
 */
function selectField(target: Value, field: string): Value | undefined {
  if (target instanceof MapValue) return target.get(field)
  if (target instanceof ObjectValue) return target.field(field)
  if (target instanceof Optional) {
    if (target.value === undefined) return target
    return optionalOfValue(selectField(target.value, field))
  }
  throw new Fault('no such overload')
}
