/** Validation of file paths inside volumes, and of file modes. */
import { invalid, type FieldError } from '../../field-error.ts'
import type { KeyToPath } from '../../generated/core/v1.ts'
import { validatePresent } from './field-checks.ts'

/** The path must not contain `..`. */
export function validatePathNoBacksteps(field: string, path: string): FieldError[] {
  return /(?:^|\/)\.\.(?:\/|$)/.test(path) ? [invalid(field, path, "must not contain '..'")] : []
}

/** The path must be relative and must not contain `..`. */
export function validateLocalDescendingPath(field: string, path: string): FieldError[] {
  const errors = path.startsWith('/') ? [invalid(field, path, 'must be a relative path')] : []
  return [...errors, ...validatePathNoBacksteps(field, path)]
}

/** A path in a volume written by the kubelet: names starting with `..` are reserved. */
export function validateLocalNonReservedPath(field: string, path: string): FieldError[] {
  const isReserved = path.startsWith('..') && !path.startsWith('../')
  const errors = validateLocalDescendingPath(field, path)
  return isReserved ? [...errors, invalid(field, path, "must not start with '..'")] : errors
}

export function validateFileMode(field: string, mode: number | undefined): FieldError[] {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return []
  return [invalid(field, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
}

/** Validates the `items` of a ConfigMap or Secret volume. */
export function validateKeyPaths(field: string, items: readonly KeyToPath[] | undefined): FieldError[] {
  return (items ?? []).flatMap((item, index) => [
    ...validatePresent(`${field}[${index}].key`, item.key),
    ...validatePresent(`${field}[${index}].path`, item.path),
    ...validateLocalNonReservedPath(`${field}[${index}].path`, item.path ?? ''),
    ...validateFileMode(`${field}[${index}].mode`, item.mode),
  ])
}
