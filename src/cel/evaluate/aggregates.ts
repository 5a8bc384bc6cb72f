/** List, map and object literals. */
import { Fault } from '../fault.ts'
import type { ConstructedType } from '../function.ts'
import type { Expression, ListExpression, MapExpression, StructExpression } from '../syntax.ts'
import { isKey, list, map, MapBuilder, Optional, typeName, type Key, type Value } from '../value.ts'
import { listCost, mapCost, structCost } from './costs.ts'
import type { Frame, Step } from './frame.ts'

export type Compile = (expression: Expression) => Step

/** The value of an expression that consists only of literals; created once and free of cost. */
export function constantOf(expression: Expression): Value | undefined {
  if (expression.kind === 'literal') return expression.value
  if (expression.kind === 'list') return constantList(expression)
  return expression.kind === 'map' ? constantMap(expression) : undefined
}

export function compileList({ elements }: ListExpression, compile: Compile): Step {
  const steps = elements.map(({ value, optional }) => ({ step: compile(value), optional }))
  return frame => {
    frame.budget.charge(listCost)
    const values: Value[] = []
    for (const { step, optional } of steps) {
      const value = optional ? unwrap(step, frame) : step(frame)
      if (value !== undefined) values.push(value)
    }
    return list(values)
  }
}

export function compileMap({ entries }: MapExpression, compile: Compile): Step {
  const steps = entries.map(({ key, value, optional }) => ({
    key: compile(key),
    step: compile(value),
    optional,
  }))
  return frame => {
    frame.budget.charge(mapCost)
    const builder = new MapBuilder()
    for (const { key, step, optional } of steps) {
      const at = keyOf(key(frame))
      const value = optional ? unwrap(step, frame) : step(frame)
      if (value !== undefined) builder.set(at, value)
    }
    return builder.build()
  }
}

export function compileStruct(
  { fields }: StructExpression,
  constructed: ConstructedType,
  compile: Compile,
): Step {
  const steps = fields.map(({ name, value, optional }) => ({ name, step: compile(value), optional }))
  return frame => {
    frame.budget.charge(structCost)
    const values = new Map<string, Value>()
    for (const { name, step, optional } of steps) {
      const value = optional ? unwrap(step, frame) : step(frame)
      if (value !== undefined) values.set(name, value)
    }
    return constructed.construct(values)
  }
}

export function keyOf(value: Value): Key {
  if (isKey(value)) return value
  throw new Fault(`unsupported key type: ${typeName(value)}`)
}

function constantList({ elements }: ListExpression): Value | undefined {
  const values: Value[] = []
  for (const { value, optional } of elements) {
    const constant = optional ? undefined : constantOf(value)
    if (constant === undefined) return undefined
    values.push(constant)
  }
  return list(values)
}

function constantMap({ entries }: MapExpression): Value | undefined {
  const values: [Key, Value][] = []
  for (const { key, value, optional } of entries) {
    const constantKey = optional ? undefined : constantOf(key)
    const constant = constantKey === undefined ? undefined : constantOf(value)
    if (constantKey === undefined || !isKey(constantKey) || constant === undefined) return undefined
    values.push([constantKey, constant])
  }
  return map(values)
}

/** The value of an optional element marked with `?`; undefined if it has none. */
function unwrap(step: Step, frame: Frame): Value | undefined {
  const optional = step(frame)
  if (optional instanceof Optional) return optional.value
  throw new Fault('no such overload')
}
