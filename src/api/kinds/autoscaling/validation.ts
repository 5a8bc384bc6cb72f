/** Validation of HorizontalPodAutoscaler in the storage version, v2. */
import { forbiddenField, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type * as v2 from '../../generated/autoscaling/v2.ts'
import { quantitySign, tryParseQuantity } from '../../text/quantity.ts'
import { validateNonNegative, validatePositive } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateMetric } from './metric-validation.ts'
import { checkVersion, validateReference, type ReferenceRules } from './reference-validation.ts'

type Autoscaler = Unchecked<v2.HorizontalPodAutoscaler>
type Spec = Unchecked<v2.HorizontalPodAutoscalerSpec>

export function validateAutoscaler({ spec = {} }: Autoscaler): FieldError[] {
  return validateSpec(spec, {
    replicasMin: 1,
    target: spec.scaleTargetRef?.kind === 'ReplicationController' ? 'version' : 'group-and-version',
    objects: 'version',
  })
}

/** Ratcheting validation: a value stored before a rule was introduced is accepted while unchanged. */
export function validateAutoscalerUpdate(
  { spec = {} }: Autoscaler,
  { spec: old = {} }: Autoscaler,
): FieldError[] {
  const { scaleTargetRef: target = {} } = spec
  const { scaleTargetRef: oldTarget = {} } = old
  const isSameTarget = target.apiVersion === oldTarget.apiVersion && target.kind === oldTarget.kind
  const hadWrongObject = (old.metrics ?? []).some(({ type, object }) => {
    const apiVersion = object?.describedObject?.apiVersion ?? ''
    return type === 'Object' && object !== undefined && checkVersion(apiVersion, 'version') !== undefined
  })
  const changedTarget = target.kind === 'ReplicationController' ? 'version' : 'group-and-version'
  return validateSpec(spec, {
    replicasMin: old.minReplicas === 0 ? 0 : 1,
    target: isSameTarget ? 'any-version' : changedTarget,
    objects: hadWrongObject ? 'any-version' : 'version',
  })
}

export function validateAutoscalerStatus({ status = {} }: Autoscaler): FieldError[] {
  return [
    ...validateNonNegative('status.currentReplicas', status.currentReplicas),
    ...validateNonNegative('status.desiredReplicas', status.desiredReplicas),
  ]
}

interface SpecRules {
  readonly replicasMin: 0 | 1
  readonly target: ReferenceRules
  readonly objects: ReferenceRules
}

function validateSpec(spec: Spec, { replicasMin, target, objects }: SpecRules): FieldError[] {
  const { metrics = [], minReplicas, behavior = {} } = spec
  const canScaleToZero = metrics.some(({ type }) => type === 'Object' || type === 'External')
  return [
    ...validateReplicas(spec, replicasMin),
    ...validateReference('spec.scaleTargetRef', spec.scaleTargetRef, target),
    ...metrics.flatMap((metric, index) => validateMetric(`spec.metrics[${index}]`, metric, objects)),
    ...(minReplicas === 0 && !canScaleToZero
      ? [
          forbiddenField(
            'spec.metrics',
            'must specify at least one Object or External metric to support scaling to zero replicas',
          ),
        ]
      : []),
    ...validateScalingRules('spec.behavior.scaleUp', behavior.scaleUp),
    ...validateScalingRules('spec.behavior.scaleDown', behavior.scaleDown),
  ]
}

function validateReplicas({ minReplicas, maxReplicas = 0 }: Spec, replicasMin: number): FieldError[] {
  const errors: FieldError[] = []
  if (minReplicas !== undefined && minReplicas < replicasMin) {
    errors.push(invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${replicasMin}`))
  }
  if (maxReplicas === 0) errors.push(required('spec.maxReplicas', 'must be set and greater than 0'))
  if (maxReplicas < 0) {
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'))
  }
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'))
  }
  return errors
}

const selectPolicies = ['Disabled', 'Max', 'Min']
const policyTypes = ['Percent', 'Pods']
const stabilizationSecondsMax = 3_600
const periodSecondsMax = 1_800

function validateScalingRules(field: string, rules: Unchecked<v2.HPAScalingRules> | undefined): FieldError[] {
  if (rules === undefined) return []
  const { stabilizationWindowSeconds: seconds = 0, selectPolicy, policies = [], tolerance } = rules
  const errors: FieldError[] = []
  const windowField = `${field}.stabilizationWindowSeconds`
  if (seconds < 0) errors.push(invalid(windowField, seconds, 'must be greater than or equal to zero'))
  if (seconds > stabilizationSecondsMax) {
    errors.push(invalid(windowField, seconds, `must be less than or equal to ${stabilizationSecondsMax}`))
  }
  if (selectPolicy !== undefined && !selectPolicies.includes(selectPolicy)) {
    errors.push(notSupported(`${field}.selectPolicy`, selectPolicy, selectPolicies))
  }
  if (policies.length === 0) errors.push(required(`${field}.policies`, 'must specify at least one Policy'))
  for (const [index, policy] of policies.entries()) {
    errors.push(...validatePolicy(`${field}.policies[${index}]`, policy))
  }
  return [...errors, ...validateTolerance(`${field}.tolerance`, tolerance)]
}

function validatePolicy(field: string, policy: Unchecked<v2.HPAScalingPolicy>): FieldError[] {
  const { type = '', value = 0, periodSeconds = 0 } = policy
  const errors = policyTypes.includes(type) ? [] : [notSupported(`${field}.type`, type, policyTypes)]
  errors.push(...validatePositive(`${field}.value`, value))
  errors.push(...validatePositive(`${field}.periodSeconds`, periodSeconds))
  if (periodSeconds <= periodSecondsMax) return errors
  const detail = `must be less than or equal to ${periodSecondsMax}`
  return [...errors, invalid(`${field}.periodSeconds`, periodSeconds, detail)]
}

function validateTolerance(field: string, text: string | undefined): FieldError[] {
  const tolerance = text === undefined ? undefined : tryParseQuantity(text)
  if (!tolerance || quantitySign(tolerance) >= 0) return []
  return [invalid(field, text, 'must be greater than or equal to 0')]
}
