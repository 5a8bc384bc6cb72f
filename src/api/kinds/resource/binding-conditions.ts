/** Validation of binding conditions and binding failure conditions of a device. */
import { invalid, type FieldError } from '../../field-error.ts'
import { validateLabelName as validateLabelKey } from '../../labels.ts'
import { validateSet } from './limits.ts'

interface BindingConditions {
  readonly bindingConditions?: readonly string[]
  readonly bindingFailureConditions?: readonly string[]
}

const conditionsMax = 4

export function validateBindingConditions(field: string, conditions: BindingConditions): FieldError[] {
  const { bindingConditions: awaited = [], bindingFailureConditions: failing = [] } = conditions
  const [awaitedField, failingField] = [`${field}.bindingConditions`, `${field}.bindingFailureConditions`]
  const rules = { itemsMax: conditionsMax, validateItem: validateLabelKey, keyOf: (name: string) => name }
  const errors = [...validateSet(awaitedField, awaited, rules), ...validateSet(failingField, failing, rules)]
  const known = new Set(awaited)
  for (const [index, condition] of failing.entries()) {
    if (!known.has(condition)) continue
    const detail = 'bindingFailureConditions must not overlap with bindingConditions'
    errors.push(invalid(`${failingField}[${index}]`, condition, detail))
  }
  if (awaited.length === 0 && failing.length > 0) {
    const detail = 'bindingConditions are required to use bindingFailureConditions'
    errors.push(invalid(awaitedField, awaited, detail))
  }
  if (failing.length === 0 && awaited.length > 0) {
    const detail = 'bindingFailureConditions are required to use bindingConditions'
    errors.push(invalid(failingField, failing, detail))
  }
  return errors
}
