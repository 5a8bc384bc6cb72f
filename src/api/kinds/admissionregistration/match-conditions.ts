/** Validation of match conditions. CEL expressions are compiled by admission, not here. */
import { duplicate, required, tooMany, type FieldError } from '../../field-error.ts'
import type { MatchCondition } from '../../generated/admissionregistration/v1.ts'
import { checkQualifiedName } from '../../names.ts'
import { validateRequiredName } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'

const conditionsMax = 64

export function validateMatchConditions(
  field: string,
  conditions: readonly Unchecked<MatchCondition>[] = [],
): FieldError[] {
  const seen = new Set<string>()
  const errors = conditions.length > conditionsMax ? [tooMany(field, conditions.length, conditionsMax)] : []
  for (const [index, { name = '', expression = '' }] of conditions.entries()) {
    if (expression.trim() === '') errors.push(required(`${field}[${index}].expression`, ''))
    errors.push(...validateRequiredName(`${field}[${index}].name`, name, checkQualifiedName))
    if (name !== '' && seen.has(name)) errors.push(duplicate(`${field}[${index}].name`, name))
    seen.add(name)
  }
  return errors
}
