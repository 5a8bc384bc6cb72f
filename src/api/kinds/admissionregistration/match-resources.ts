/** Validation of `matchResources` of policies and bindings. */
import { enumValues } from '../../definitions.ts'
import { required, type FieldError } from '../../field-error.ts'
import type { MatchResources } from '../../generated/admissionregistration/v1.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validatePresentChoice } from '../validation/field-checks.ts'
import { validateSelector } from '../validation/selectors.ts'
import { mapCopyOnWrite, withField, withMissing } from '../../copy-on-write.ts'
import { validateNamedRule, withScope } from './resource-rules.ts'

export const matchPolicies = enumValues('admissionregistration.MatchPolicyType')

export function withMatchDefaults(match: MatchResources): MatchResources {
  const filled = withMissing(match, { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} })
  const ruled = withField(filled, 'resourceRules', rules => mapCopyOnWrite(rules, withScope))
  return withField(ruled, 'excludeResourceRules', rules => mapCopyOnWrite(rules, withScope))
}

export function validateMatchResources(field: string, match: MatchResources | undefined): FieldError[] {
  if (!match) return []
  const { resourceRules = [], excludeResourceRules = [] } = match
  return [
    ...validatePresentChoice(`${field}.matchPolicy`, match.matchPolicy, matchPolicies),
    ...validateRequiredSelector(`${field}.namespaceSelector`, match.namespaceSelector),
    ...validateRequiredSelector(`${field}.objectSelector`, match.objectSelector),
    ...resourceRules.flatMap((rule, index) => validateNamedRule(`${field}.resourceRules[${index}]`, rule)),
    ...excludeResourceRules.flatMap((rule, index) => {
      return validateNamedRule(`${field}.excludeResourceRules[${index}]`, rule)
    }),
  ]
}

function validateRequiredSelector(field: string, selector: LabelSelector | undefined): FieldError[] {
  return selector ? validateSelector(field, selector) : [required(field, '')]
}
