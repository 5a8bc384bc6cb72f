import { Fault } from '../fault.ts'
import { MapValue, ObjectValue, Optional, optionalOfValue, type Value } from '../value.ts'

/**
 * The field of an object or the value of a map key; undefined if absent. Selecting from an optional gives an
 * optional.
 */
export function selectField(target: Value, field: string): Value | undefined {
  if (target instanceof MapValue) return target.get(field)
  if (target instanceof ObjectValue) return target.field(field)
  if (target instanceof Optional) {
    if (target.value === undefined) return target
    return optionalOfValue(selectField(target.value, field))
  }
  throw new Fault('no such overload')
}
