/** Paths of files inside volumes, and their modes. */
import { invalid, type FieldError } from '../../../field-error.ts'
import type { KeyToPath } from '../../../generated/core/v1.ts'
import { validatePresent } from './field-checks.ts'

/** A path that does not lead upwards. */
export function validateNoBacksteps(field: string, path: string): FieldError[] {
  return /(?:^|\/)\.\.(?:\/|$)/.test(path) ? [invalid(field, path, "must not contain '..'")] : []
}

/** A path that leads downwards from where it starts. */
export function validateDescendingPath(field: string, path: string): FieldError[] {
  const errors = path.startsWith('/') ? [invalid(field, path, 'must be a relative path')] : []
  return [...errors, ...validateNoBacksteps(field, path)]
}

/** A path inside a volume that the kubelet writes: names with two dots in front are its own. */
export function validateWrittenPath(field: string, path: string): FieldError[] {
  const isReserved = path.startsWith('..') && !path.startsWith('../')
  const errors = validateDescendingPath(field, path)
  return isReserved ? [...errors, invalid(field, path, "must not start with '..'")] : errors
}

export function validateFileMode(field: string, mode: number | undefined): FieldError[] {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return []
  return [invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
}

/** The files that a config map or a secret becomes. */
export function validateKeyPaths(field: string, items: readonly KeyToPath[] | undefined): FieldError[] {
  return (items ?? []).flatMap((item, index) => [
    ...validatePresent(`${field}[${index}].key`, item.key),
    ...validatePresent(`${field}[${index}].path`, item.path),
    ...validateWrittenPath(`${field}[${index}].path`, item.path ?? ''),
    ...validateFileMode(`${field}[${index}].mode`, item.mode),
  ])
}
