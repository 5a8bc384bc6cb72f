import { duplicate, required, type FieldError } from '../../field-error.ts'

/** Conditions in the older form of this group, of which only the types are looked at. */
export function validateConditionTypes(conditions: readonly { readonly type?: string }[] = []): FieldError[] {
  const seen = new Set<string>()
  return conditions.flatMap(({ type = '' }, index) => {
    const field = `status.conditions[${index}].type`
    const repeated = seen.has(type) ? [duplicate(field, type)] : []
    seen.add(type)
    return type === '' ? [...repeated, required(field, '')] : repeated
  })
}
