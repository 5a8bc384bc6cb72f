/** Rules of ConfigMap. */
import { forbiddenField, invalid, tooLong, type FieldError } from '../../field-error.ts'
import type { ConfigMap } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { decodedBytes, isChangedData, validateDataKeys } from './data-validation.ts'

export const configMapRules: KindRules<ConfigMap> = {
  validate: validateConfigMap,
  validateUpdate: (configMap, old) => [
    ...validateImmutability(configMap, old),
    ...validateConfigMap(configMap),
  ],
}

/** Maximum total size of all decoded values, in bytes. */
export const dataBytesMax = 1024 * 1024

function validateConfigMap({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const errors: FieldError[] = []
  let sizeBytes = 0
  for (const [key, value] of Object.entries(data)) {
    errors.push(...validateDataKeys('data', [key]))
    if (Object.hasOwn(binaryData, key)) {
      errors.push(invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'))
    }
    sizeBytes += Buffer.byteLength(value)
  }
  errors.push(...validateDataKeys('binaryData', Object.keys(binaryData)))
  sizeBytes += decodedBytes(binaryData)
  // The error refers to the whole object, for which Kubernetes writes the path `[]`.
  return sizeBytes > dataBytesMax ? [...errors, tooLong('[]', dataBytesMax)] : errors
}

function validateImmutability(configMap: ConfigMap, old: ConfigMap): FieldError[] {
  if (old.immutable !== true) return []
  const errors: FieldError[] = []
  const detail = 'field is immutable when `immutable` is set'
  if (configMap.immutable !== true) errors.push(forbiddenField('immutable', detail))
  if (isChangedData(configMap.data, old.data)) errors.push(forbiddenField('data', detail))
  if (isChangedData(configMap.binaryData, old.binaryData)) errors.push(forbiddenField('binaryData', detail))
  return errors
}
