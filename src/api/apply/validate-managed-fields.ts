/** Validates the managed fields of an object sent by a client. */
import { invalid, notSupported, required, tooLong, wrongType, type FieldError } from '../field-error.ts'
import type { JsonValue } from '../text/json-value.ts'
import { validateFieldManager } from './field-manager.ts'
import { asMap, type JsonObject } from './structure.ts'

const subresourceBytesMax = 256

export function validateManagedFields(managedFields: readonly JsonValue[], field: string): FieldError[] {
  return managedFields.flatMap((item, index) => {
    const entry = asMap(item)
    const path = `${field}[${index}]`
    return entry === undefined ? [wrongType(path, item, 'must be an object')] : validateEntry(entry, path)
  })
}

function validateEntry(entry: JsonObject, path: string): FieldError[] {
  const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry
  const errors: FieldError[] = []
  if (operation === '') errors.push(required(`${path}.operation`, 'must not be empty'))
  else if (operation !== 'Apply' && operation !== 'Update') {
    errors.push(notSupported(`${path}.operation`, operation, ['Apply', 'Update']))
  }
  if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
    errors.push(invalid(`${path}.fieldsType`, fieldsType, 'must be `FieldsV1`'))
  }
  if (typeof manager === 'string') errors.push(...validateFieldManager(manager, `${path}.manager`))
  if (typeof subresource === 'string' && Buffer.byteLength(subresource) > subresourceBytesMax) {
    errors.push(tooLong(`${path}.subresource`, subresourceBytesMax))
  }
  return errors
}
