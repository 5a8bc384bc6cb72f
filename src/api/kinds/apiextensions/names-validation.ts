/** Validation of the names of a custom resource. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { CustomResourceDefinitionNames } from '../../generated/apiextensions/v1.ts'
import { checkDns1035Label } from '../../names.ts'
import type { Unchecked } from '../validation/unchecked.ts'

type Names = Unchecked<CustomResourceDefinitionNames>

/** Checks that all mandatory names are set and that all names are valid. */
export function validateNames(field: string, names: Names): FieldError[] {
  const needed = ['plural', 'singular', 'kind', 'listKind'] as const
  return [
    ...needed.filter(name => !names[name]).map(name => required(`${field}.${name}`, '')),
    ...validateGivenNames(field, names),
  ]
}

/** Checks only the names that are set. */
export function validateGivenNames(field: string, names: Names): FieldError[] {
  const { plural = '', singular = '', kind = '', listKind = '', shortNames = [], categories = [] } = names
  return [
    ...validateLabel(`${field}.plural`, plural),
    ...validateLabel(`${field}.singular`, singular),
    ...validateKind(`${field}.kind`, kind),
    ...validateKind(`${field}.listKind`, listKind),
    ...shortNames.flatMap((name, index) => validateListed(`${field}.shortNames[${index}]`, name)),
    ...(kind !== '' && kind === listKind
      ? [invalid(`${field}.listKind`, listKind, 'kind and listKind may not be the same')]
      : []),
    ...categories.flatMap((name, index) => validateListed(`${field}.categories[${index}]`, name)),
  ]
}

function validateLabel(field: string, name: string): FieldError[] {
  return name === '' ? [] : validateListed(field, name)
}

function validateListed(field: string, name: string): FieldError[] {
  const problems = checkDns1035Label(name)
  return problems.length === 0 ? [] : [invalid(field, name, problems.join(','))]
}

function validateKind(field: string, kind: string): FieldError[] {
  const problems = kind === '' ? [] : checkDns1035Label(kind.toLowerCase())
  if (problems.length === 0) return []
  return [invalid(field, kind, `may have mixed case, but should otherwise match: ${problems.join(',')}`)]
}
