/** The data of config maps and secrets: keys that become files, values that become their content. */
import { invalid, type FieldError } from '../../field-error.ts'
import { equalJson } from '../../json-value.ts'
import { checkConfigMapKey } from '../../names.ts'

export type Data = Readonly<Record<string, string>>

export function validateDataKeys(field: string, keys: readonly string[]): FieldError[] {
  return keys.flatMap(key => checkConfigMapKey(key).map(message => invalid(`${field}[${key}]`, key, message)))
}

/** Bytes that values in base64 stand for, together. */
export function decodedBytes(data: Data): number {
  let sizeBytes = 0
  for (const value of Object.values(data)) sizeBytes += Buffer.byteLength(value, 'base64')
  return sizeBytes
}

export function isChangedData(data: Data = {}, before: Data = {}): boolean {
  return !equalJson(data, before)
}
