/** Labels and their validation. Selectors are in `selector.ts`. */
import { invalid, invalidEach, type FieldError } from './field-error.ts'
import { checkLabelValue, checkQualifiedName } from './names.ts'

export type Labels = Readonly<Record<string, string>>

/** Ignores inherited properties such as `constructor`. */
export function labelOf(labels: Labels | undefined, key: string): string | undefined {
  const value: unknown = labels?.[key]
  return typeof value === 'string' ? value : undefined
}

/** `a=1,b=2`, sorted by key. */
export function formatLabels(labels: Labels): string {
  return Object.keys(labels)
    .sort()
    .map(key => `${key}=${labels[key]}`)
    .join(',')
}

export function validateLabelName(field: string, name: string): FieldError[] {
  return invalidEach(field, name, checkQualifiedName(name))
}

export function validateLabels(field: string, labels: Labels | undefined): FieldError[] {
  const errors: FieldError[] = []
  for (const [key, value] of Object.entries(labels ?? {})) {
    for (const message of checkQualifiedName(key)) errors.push(invalid(field, key, message))
    for (const message of checkLabelValue(value)) errors.push(invalid(field, value, message))
  }
  return errors
}
