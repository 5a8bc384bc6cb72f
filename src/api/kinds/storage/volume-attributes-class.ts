/** Rules of VolumeAttributesClass. */
import { forbiddenField, required, type FieldError } from '../../field-error.ts'
import type { VolumeAttributesClass } from '../../generated/storage/v1.ts'
import { equalJson } from '../../text/json-value.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateDriver, validateParameters } from './parameters.ts'

export const volumeAttributesClassRules: KindRules<VolumeAttributesClass> = {
  validate: validateAttributesClass,
  validateUpdate: (attributesClass, old) => {
    const errors: FieldError[] = []
    if ((attributesClass.driverName ?? '') !== (old.driverName ?? '')) {
      errors.push(forbiddenField('driverName', 'updates to driverName are forbidden.'))
    }
    if (!equalJson(attributesClass.parameters ?? {}, old.parameters ?? {})) {
      errors.push(forbiddenField('parameters', 'updates to parameters are forbidden.'))
    }
    return [...errors, ...validateAttributesClass(attributesClass)]
  },
  returnDeletedObject: true,
}

function validateAttributesClass({ driverName, parameters = {} }: VolumeAttributesClass): FieldError[] {
  const errors = [
    ...validateDriver('driverName', driverName),
    ...validateParameters('parameters', parameters),
  ]
  if (Object.keys(parameters).length > 0) return errors
  return [...errors, required('parameters', 'must contain at least one key/value pair')]
}
