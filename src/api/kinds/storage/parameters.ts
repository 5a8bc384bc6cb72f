/** Validation of `parameters` in storage classes. */
import { invalid, invalidEach, required, tooLong, type FieldError } from '../../field-error.ts'
import { checkQualifiedName } from '../../names.ts'

export function validateDriver(field: string, driver: string | undefined): FieldError[] {
  if (!driver) return [required(field, '')]
  const name = driver.toLowerCase()
  return invalidEach(field, name, checkQualifiedName(name))
}

export function validateParameters(
  field: string,
  parameters: Readonly<Record<string, string>>,
): FieldError[] {
  const entries = Object.entries(parameters)
  if (entries.length > parametersMax) return [tooLong(field, parametersMax)]
  const errors = Object.hasOwn(parameters, '') ? [invalid(field, '', 'field can not be empty.')] : []
  return textBytes(parameters) > parametersBytesMax ? [...errors, tooLong(field, parametersBytesMax)] : errors
}

/** Total bytes of all keys and values. */
export function textBytes(texts: Readonly<Record<string, string>>): number {
  let sizeBytes = 0
  for (const [key, text] of Object.entries(texts))
    sizeBytes += Buffer.byteLength(key) + Buffer.byteLength(text)
  return sizeBytes
}

const parametersMax = 512
const parametersBytesMax = 256 * 1024
