/** Function calls: of the overloads that matched the types, the first that matches the run-time values. */
import { Fault } from '../fault.ts'
import type { Overload } from '../function.ts'
import type { Type } from '../type.ts'
import {
  Duration,
  ListValue,
  MapValue,
  ObjectValue,
  OpaqueValue,
  Optional,
  Timestamp,
  typeName,
  TypeValue,
  Uint,
  type Value,
} from '../value.ts'
import type { Step } from './frame.ts'

export function compileDispatch(
  name: string,
  overloads: readonly Overload[],
  operands: readonly Step[],
): Step {
  const lazy = compileLazy(overloads, operands)
  if (lazy !== undefined) return lazy
  const candidates = overloads.map(overload => ({ overload, fits: overload.parameters.map(matcherOf) }))
  const [first] = candidates
  const [left, right] = operands
  if (candidates.length === 1 && operands.length === 1) {
    const { overload, fits } = first!
    return frame => {
      const value = left!(frame)
      if (!fits[0]!(value)) throw noSuchOverload(name, [value])
      frame.budget.charge(Math.ceil(overload.cost(value)))
      return overload.call(value)
    }
  }
  if (operands.length === 2) {
    return frame => {
      const [a, b] = [left!(frame), right!(frame)]
      for (const { overload, fits } of candidates) {
        if (!fits[0]!(a) || !fits[1]!(b)) continue
        frame.budget.charge(Math.ceil(overload.cost(a, b)))
        return overload.call(a, b)
      }
      throw noSuchOverload(name, [a, b])
    }
  }
  return frame => {
    const values = operands.map(operand => operand(frame))
    for (const { overload, fits } of candidates) {
      if (!values.every((value, index) => fits[index]!(value))) continue
      frame.budget.charge(Math.ceil(overload.cost(...values)))
      return overload.call(...values)
    }
    throw noSuchOverload(name, values)
  }
}

/** `a.or(b)` and `a.orValue(b)` evaluate `b` only if `a` has no value. */
function compileLazy(overloads: readonly Overload[], [target, other]: readonly Step[]): Step | undefined {
  const [overload] = overloads
  const name = overload?.name
  if (overload?.parameters[0]?.kind !== 'optional' || (name !== 'or' && name !== 'orValue')) return undefined
  return frame => {
    const optional = target!(frame)
    frame.budget.charge(1)
    if (!(optional instanceof Optional)) throw new Fault('no such overload')
    if (optional.value === undefined) return other!(frame)
    return name === 'or' ? optional : optional.value
  }
}

function noSuchOverload(name: string, values: readonly Value[]): Fault {
  if (/^[^A-Za-z]/.test(name)) return new Fault('no such overload')
  return new Fault(`no such overload: ${name}(${values.map(typeName).join(', ')})`)
}

type Matcher = (value: Value) => boolean

/** Tests if a value has a type; elements of lists and maps are not tested. */
function matcherOf(type: Type): Matcher {
  switch (type.kind) {
    case 'dyn':
    case 'error':
    case 'parameter':
      return () => true
    case 'null':
      return value => value === null
    case 'bool':
      return value => typeof value === 'boolean'
    case 'int':
      return value => typeof value === 'bigint'
    case 'uint':
      return value => value instanceof Uint
    case 'double':
      return value => typeof value === 'number'
    case 'string':
      return value => typeof value === 'string'
    case 'bytes':
      return value => value instanceof Uint8Array
    case 'timestamp':
      return value => value instanceof Timestamp
    case 'duration':
      return value => value instanceof Duration
    case 'list':
      return value => value instanceof ListValue
    case 'map':
      return value => value instanceof MapValue
    case 'optional':
      return value => value instanceof Optional
    case 'type':
      return value => value instanceof TypeValue
    case 'object': {
      const { name } = type.type
      return value => value instanceof ObjectValue && value.type.name === name
    }
    case 'opaque': {
      const { name } = type
      return value => value instanceof OpaqueValue && value.typeName === name
    }
  }
}
