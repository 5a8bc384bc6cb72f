/** Validation of CrossVersionObjectReference. */
import { invalid, type FieldError } from '../../field-error.ts'
import type * as v2 from '../../generated/autoscaling/v2.ts'
import { parseGroupVersion } from '../../group-version.ts'
import { checkPathSegmentName } from '../../names.ts'
import { validateRequiredName } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'

export type Reference = Unchecked<v2.CrossVersionObjectReference>

/** Requirements on `apiVersion`: none, well-formed, or well-formed with a group. */
export type ReferenceRules = 'any-version' | 'version' | 'group-and-version'

export function validateReference(
  field: string,
  reference: Reference = {},
  rules: ReferenceRules,
): FieldError[] {
  const { apiVersion = '' } = reference
  const problem = checkVersion(apiVersion, rules)
  return [
    ...validateRequiredName(`${field}.kind`, reference.kind, checkPathSegmentName),
    ...validateRequiredName(`${field}.name`, reference.name, checkPathSegmentName),
    ...(problem === undefined ? [] : [invalid(`${field}.apiVersion`, apiVersion, problem)]),
  ]
}

/** Error message for an `apiVersion`; undefined if it is valid. */
export function checkVersion(apiVersion: string, rules: ReferenceRules): string | undefined {
  if (rules === 'any-version') return undefined
  const parsed = parseGroupVersion(apiVersion)
  if (!parsed) return `unexpected GroupVersion string: ${apiVersion}`
  if (rules === 'version' || parsed.group !== '') return undefined
  return 'apiVersion must specify API group'
}
