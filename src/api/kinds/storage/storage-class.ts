/** Rules of StorageClass and VolumeAttributesClass. */
import { enumValues } from '../../definitions.ts'
import { duplicate, forbiddenField, required, type FieldError } from '../../field-error.ts'
import type { TopologySelectorTerm } from '../../generated/core/v1.ts'
import type { StorageClass, VolumeAttributesClass } from '../../generated/storage/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateLabelName } from '../../labels.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { deprecatedNodeLabels } from '../validation/deprecated-node-labels.ts'
import { validateOptionalChoice } from '../validation/field-checks.ts'
import { repetitions } from '../validation/repetitions.ts'
import { withMissing } from '../../copy-on-write.ts'
import { validateDriver, validateParameters } from './parameters.ts'
import { equalJson } from '../../text/json-value.ts'

/** Parameters, provisioner, reclaim policy and volume binding mode are immutable. */
export const storageClassRules: KindRules<StorageClass> = {
  withDefaults: storageClass => {
    return withMissing(storageClass, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' })
  },
  validate: validateStorageClass,
  validateUpdate: (storageClass, old) => [
    ...validateStorageClass(storageClass),
    ...validateImmutable(storageClass.parameters ?? {}, old.parameters ?? {}, 'parameters'),
    ...validateImmutable(storageClass.provisioner ?? '', old.provisioner ?? '', 'provisioner'),
    ...validateImmutable(storageClass.reclaimPolicy, old.reclaimPolicy, 'reclaimPolicy'),
    ...validateImmutable(storageClass.volumeBindingMode, old.volumeBindingMode, 'volumeBindingMode'),
  ],
  warnings: warningsForStorageClass,
  returnDeletedObject: true,
}

const bindingModes = enumValues('storage.VolumeBindingMode')

function validateStorageClass(storageClass: StorageClass): FieldError[] {
  const { parameters = {}, reclaimPolicy, volumeBindingMode, allowedTopologies = [] } = storageClass
  return [
    ...validateDriver('provisioner', storageClass.provisioner),
    ...validateParameters('parameters', parameters),
    ...(reclaimPolicy ? validateOptionalChoice('reclaimPolicy', reclaimPolicy, ['Delete', 'Retain']) : []),
    ...validateOptionalChoice('volumeBindingMode', volumeBindingMode, bindingModes),
    ...validateTopologies('allowedTopologies', allowedTopologies),
  ]
}

/**
 * Allowed topologies must be distinct. An error is reported for each equal term before it; an empty term is a duplicate
 * of as many as there are terms, even of itself.
 */
function validateTopologies(field: string, terms: readonly TopologySelectorTerm[]): FieldError[] {
  const equalTerms = new Map([['', terms.length]])
  return terms.flatMap((term, index) => {
    const meaning = meaningOf(term)
    const duplicates = equalTerms.get(meaning) ?? 0
    equalTerms.set(meaning, duplicates + 1)
    const place = `${field}[${index}].matchLabelExpressions`
    const length = Math.min(duplicates, duplicateErrorsMax)
    return [...validateTerm(place, term), ...Array.from({ length }, () => duplicate(place, ''))]
  })
}

/** Per term: the errors of a long list must not grow with the square of its length. */
const duplicateErrorsMax = 16

function validateTerm(field: string, { matchLabelExpressions = [] }: TopologySelectorTerm): FieldError[] {
  const keys = matchLabelExpressions.map(expression => expression.key ?? '')
  const isRepeated = repetitions(keys)
  return matchLabelExpressions.flatMap((expression, index) => {
    const values = expression.values ?? []
    const key = keys[index] ?? ''
    const isRepeatedValue = repetitions(values)
    return [
      ...(values.length === 0 ? [required(`${field}[${index}].values`, '')] : []),
      ...values.flatMap((value, position) => {
        return isRepeatedValue[position] ? [duplicate(`${field}[${index}].values[${position}]`, value)] : []
      }),
      ...validateLabelName(`${field}[${index}].key`, key),
      ...(isRepeated[index] ? [duplicate(`${field}[${index}].key`, key)] : []),
    ]
  })
}

/** Canonical form of a term, independent of order. */
function meaningOf({ matchLabelExpressions = [] }: TopologySelectorTerm): string {
  return matchLabelExpressions
    .map(({ key, values }) => JSON.stringify([key, ...[...new Set(values)].sort()]))
    .sort()
    .join('\n')
}

function warningsForStorageClass({ allowedTopologies = [] }: StorageClass): string[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }, index) => {
    return matchLabelExpressions.flatMap(({ key }, position) => {
      const advice = deprecatedNodeLabels.get(key)
      const field = `allowedTopologies[${index}].matchLabelExpressions[${position}].key`
      return advice === undefined ? [] : [`${field}: ${advice}`]
    })
  })
}

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
