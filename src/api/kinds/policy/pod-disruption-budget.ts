/**
 * Rules of PodDisruptionBudget. Eviction has no rules: the pod and its disruption budgets decide.
 * https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
 */
import { enumValues } from '../../definitions.ts'
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import type { PodDisruptionBudget, PodDisruptionBudgetSpec } from '../../generated/policy/v1.ts'
import { checkPercent, percentOf, type IntOrString } from '../../text/int-or-string.ts'
import type { KindRules } from '../../kind-rules.ts'
import { pathSegmentNames } from '../../names.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateConditions } from '../validation/conditions.ts'
import { validateNonNegative, validateOptionalChoice } from '../validation/field-checks.ts'
import { validateSelector } from '../validation/selectors.ts'
import type { Unchecked } from '../validation/unchecked.ts'

type Budget = Unchecked<PodDisruptionBudget>

export const podDisruptionBudgetRules: KindRules<PodDisruptionBudget> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  names: pathSegmentNames,
  placesMetadataErrors: true,
  validate: (budget, metadataErrors = []) => {
    const errors = validateBudget(budget)
    return errors.length > 0 ? errors : metadataErrors
  },
  validateUpdate: validateBudget,
  validateStatusUpdate: validateStatus,
}

const evictionPolicies = enumValues('policy.UnhealthyPodEvictionPolicyType')

function validateBudget({ spec = {} }: Budget): FieldError[] {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: eviction } = spec
  return [
    ...validateOneLimit(spec),
    ...validateShare('spec.minAvailable', minAvailable),
    ...validateShare('spec.maxUnavailable', maxUnavailable),
    ...validateSelector('spec.selector', selector as LabelSelector | undefined),
    ...validateOptionalChoice('spec.unhealthyPodEvictionPolicy', eviction, evictionPolicies),
  ]
}

function validateOneLimit(spec: Unchecked<PodDisruptionBudgetSpec>): FieldError[] {
  if (spec.minAvailable === undefined || spec.maxUnavailable === undefined) return []
  return [invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set')]
}

/** A number or a percentage of pods. */
function validateShare(field: string, share: IntOrString | undefined): FieldError[] {
  if (typeof share !== 'string') return validateNonNegative(field, share)
  const errors = invalidEach(field, share, checkPercent(share))
  const isMore = errors.length === 0 && (percentOf(share) ?? Infinity) > 100
  return isMore ? [invalid(field, share, 'must not be greater than 100%')] : errors
}

function validateStatus({ status = {} }: Budget): FieldError[] {
  return [
    ...validateConditions('status.conditions', status.conditions),
    ...validateNonNegative('status.disruptionsAllowed', status.disruptionsAllowed),
    ...validateNonNegative('status.currentHealthy', status.currentHealthy),
    ...validateNonNegative('status.desiredHealthy', status.desiredHealthy),
    ...validateNonNegative('status.expectedPods', status.expectedPods),
  ]
}
