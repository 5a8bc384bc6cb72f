/** Field manager names: validation and the default derived from the user agent. */
import { invalid, tooLong, type FieldError } from '../field-error.ts'

const fieldManagerBytesMax = 128

/**
 * The characters Go's `unicode.IsPrint` accepts: letters, marks, numbers, punctuation, symbols and the ASCII
 * space.
 */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

export function validateFieldManager(fieldManager: string, field = 'fieldManager'): FieldError[] {
  const errors: FieldError[] = []
  if (Buffer.byteLength(fieldManager) > fieldManagerBytesMax) return [tooLong(field, fieldManagerBytesMax)]
  let position = 0
  for (const character of fieldManager) {
    if (!printable.test(character)) {
      const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
      errors.push(invalid(field, fieldManager, `invalid character U+${code} (at position ${position})`))
    }
    position += Buffer.byteLength(character)
  }
  return errors
}

/** The field manager of a write: the name given by the client, otherwise the first part of its user agent. */
export function fieldManagerOf(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager
  let name = ''
  let bytes = 0
  for (const character of userAgent.split('/', 1)[0] ?? '') {
    if (!printable.test(character)) continue
    bytes += Buffer.byteLength(character)
    if (bytes > fieldManagerBytesMax) break
    name += character
  }
  return name
}
