import { duplicate, required, type FieldError } from '../../field-error.ts'

/** Validates the condition types of this group, whose conditions predate `metav1.Condition`. */
export function validateConditionTypes(conditions: readonly { readonly type?: string }[] = []): FieldError[] {
  const seen = new Set<string>()
  return conditions.flatMap(({ type = '' }, index) => {
    const field = `status.conditions[${index}].type`
    const repeated = seen.has(type) ? [duplicate(field, type)] : []
    seen.add(type)
    return type === '' ? [...repeated, required(field, '')] : repeated
  })
}
