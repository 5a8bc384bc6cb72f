/** Validation of tolerations, topology spread constraints, readiness gates and scheduling gates. */
import { enumValues } from '../../definitions.ts'
import {
  duplicate,
  invalid,
  invalidEach,
  notSupported,
  required,
  type FieldError,
} from '../../field-error.ts'
import type {
  PodReadinessGate,
  PodSchedulingGate,
  Toleration,
  TopologySpreadConstraint,
} from '../../generated/core/v1.ts'
import { validateLabelName } from '../../labels.ts'
import { checkLabelValue, checkQualifiedName } from '../../names.ts'
import { validateLabelKeys } from './affinity-validation.ts'
import { validateOptionalChoice, validatePositive } from '../validation/field-checks.ts'
import { validateSelector } from '../validation/selectors.ts'

export function validateTolerations(field: string, tolerations: readonly Toleration[]): FieldError[] {
  return tolerations.flatMap((toleration, index) => validateToleration(`${field}[${index}]`, toleration))
}

function validateToleration(field: string, toleration: Toleration): FieldError[] {
  const { key = '', operator = '', value = '', effect = '', tolerationSeconds } = toleration
  const errors = key === '' ? [] : validateLabelName(`${field}.key`, key)
  if (key === '' && operator !== 'Exists') {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
    errors.push(invalid(`${field}.operator`, operator, detail))
  }
  if (tolerationSeconds !== undefined && effect !== 'NoExecute') {
    errors.push(
      invalid(`${field}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"),
    )
  }
  errors.push(...validateOperator(`${field}.operator`, operator, value))
  if (effect === '') return errors
  return [
    ...errors,
    ...validateOptionalChoice(`${field}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
  ]
}

function validateOperator(field: string, operator: string, value: string): FieldError[] {
  switch (operator) {
    case '':
    case 'Equal': {
      const messages = checkLabelValue(value)
      return messages.length === 0 ? [] : [invalid(field, value, messages.join(';'))]
    }
    case 'Exists':
      return value === '' ? [] : [invalid(field, value, "value must be empty when `operator` is 'Exists'")]
    // Numeric comparison operators are alpha and disabled.
    case 'Gt':
    case 'Lt':
      return [notSupported(field, operator, ['Equal', 'Exists', 'Lt', 'Gt'])]
    default:
      return [notSupported(field, operator, ['Equal', 'Exists'])]
  }
}

export function validateTopologySpread(
  field: string,
  constraints: readonly TopologySpreadConstraint[],
): FieldError[] {
  const lastIndexes = new Map(constraints.map((constraint, index) => [spreadKey(constraint), index]))
  return constraints.flatMap((constraint, index) => {
    const place = `${field}[${index}]`
    const errors = validateConstraint(place, constraint)
    if (lastIndexes.get(spreadKey(constraint)) === index) return errors
    return [...errors, duplicate(`${place}.{topologyKey, whenUnsatisfiable}`, spreadKey(constraint))]
  })
}

function spreadKey({ topologyKey = '', whenUnsatisfiable = '' }: Partial<TopologySpreadConstraint>): string {
  return `{${topologyKey}, ${whenUnsatisfiable}}`
}

function validateConstraint(field: string, constraint: Partial<TopologySpreadConstraint>): FieldError[] {
  const {
    maxSkew = 0,
    topologyKey,
    whenUnsatisfiable = '',
    minDomains,
    labelSelector,
    matchLabelKeys,
  } = constraint
  const errors = validatePositive(`${field}.maxSkew`, maxSkew)
  if (!topologyKey) errors.push(required(`${field}.topologyKey`, 'can not be empty'))
  const actions = enumValues('core.UnsatisfiableConstraintAction')
  errors.push(...validateOptionalChoice(`${field}.whenUnsatisfiable`, whenUnsatisfiable, actions))
  if (minDomains !== undefined) errors.push(...validatePositive(`${field}.minDomains`, minDomains))
  if (minDomains !== undefined && whenUnsatisfiable !== 'DoNotSchedule') {
    const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`
    errors.push(invalid(`${field}.minDomains`, minDomains, detail))
  }
  return [
    ...errors,
    ...validateOptionalChoice(
      `${field}.nodeAffinityPolicy`,
      constraint.nodeAffinityPolicy,
      enumValues('core.NodeInclusionPolicy'),
    ),
    ...validateOptionalChoice(
      `${field}.nodeTaintsPolicy`,
      constraint.nodeTaintsPolicy,
      enumValues('core.NodeInclusionPolicy'),
    ),
    ...validateLabelKeys(field, { matchLabelKeys, labelSelector }),
    ...validateSelector(`${field}.labelSelector`, labelSelector),
  ]
}

export function validateReadinessGates(field: string, gates: readonly PodReadinessGate[]): FieldError[] {
  return gates.flatMap(({ conditionType = '' }: Partial<PodReadinessGate>, index) => {
    return invalidEach(`${field}[${index}].conditionType`, conditionType, checkQualifiedName(conditionType))
  })
}

export function validateSchedulingGates(field: string, gates: readonly PodSchedulingGate[]): FieldError[] {
  const seen = new Set<string>()
  return gates.flatMap(({ name = '' }: Partial<PodSchedulingGate>, index) => {
    const errors = invalidEach(`${field}[${index}]`, name, checkQualifiedName(name))
    if (seen.has(name)) errors.push(duplicate(`${field}[${index}]`, name))
    seen.add(name)
    return errors
  })
}
