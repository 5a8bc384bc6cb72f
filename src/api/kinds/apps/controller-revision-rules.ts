/** Rules of ControllerRevision. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { ControllerRevision } from '../../generated/apps/v1.ts'
import { equalJson } from '../../text/json-value.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateNonNegative } from '../validation/field-checks.ts'

export const controllerRevisionRules: KindRules<ControllerRevision> = {
  validate: object => [
    ...validateNonNegative('revision', object.revision),
    ...validateData('data', object.data),
  ],
  validateUpdate: (object, old) => [
    ...validateNonNegative('revision', object.revision),
    ...(equalJson(object.data, old.data) ? [] : [invalid('data', object.data ?? null, 'field is immutable')]),
  ],
}

/** `data` may be any JSON when decoded; only objects are valid. */
function validateData(field: string, data: unknown): FieldError[] {
  if (data === undefined || data === null) return [required(field, 'data is mandatory')]
  const isObject = typeof data === 'object' && !Array.isArray(data)
  return isObject ? [] : [required(field, 'data must be a valid JSON object')]
}
