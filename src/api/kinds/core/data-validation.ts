/** Validation of the data of ConfigMap and Secret, whose keys are used as file names. */
import { invalid, type FieldError } from '../../field-error.ts'
import { equalJson } from '../../text/json-value.ts'
import { checkConfigMapKey } from '../../names.ts'

export type Data = Readonly<Record<string, string>>

export function validateDataKeys(field: string, keys: readonly string[]): FieldError[] {
  return keys.flatMap(key => checkConfigMapKey(key).map(message => invalid(`${field}[${key}]`, key, message)))
}

/** Total decoded size of base64 values, in bytes. */
export function decodedBytes(data: Data): number {
  let sizeBytes = 0
  for (const value of Object.values(data)) sizeBytes += Buffer.byteLength(value, 'base64')
  return sizeBytes
}

export function isChangedData(data: Data = {}, old: Data = {}): boolean {
  return !equalJson(data, old)
}
