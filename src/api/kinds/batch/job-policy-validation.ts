/** Validation of the pod failure policy and the success policy. */
import { enumValues } from '../../definitions.ts'
import {
  duplicate,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooLong,
  tooMany,
  type FieldError,
} from '../../field-error.ts'
import type {
  JobSpec,
  PodFailurePolicy,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyOnPodConditionsPattern,
  PodFailurePolicyRule,
  SuccessPolicy,
  SuccessPolicyRule,
} from '../../generated/batch/v1.ts'
import { countIndexes, parseIndexRanges } from '../../text/index-ranges.ts'
import { checkQualifiedName } from '../../names.ts'
import { quote } from '../../text/quote.ts'
import { validateNonNegative } from '../validation/field-checks.ts'

const rulesMax = 20
const exitCodesMax = 255
const patternsMax = 20
const indexesBytesMax = 64 * 1024

export function validatePodFailurePolicy(
  field: string,
  policy: PodFailurePolicy,
  spec: Partial<JobSpec>,
): FieldError[] {
  const rules = policy.rules ?? []
  const { containers, initContainers } = spec.template?.spec ?? {}
  const names = new Set([...(containers ?? []), ...(initContainers ?? [])].map(container => container.name))
  return [
    ...(rules.length > rulesMax ? [tooMany(`${field}.rules`, rules.length, rulesMax)] : []),
    ...rules.flatMap((rule, index) => {
      const place = `${field}.rules[${index}]`
      return [...validateAction(`${place}.action`, rule.action, spec), ...validateRule(place, rule, names)]
    }),
  ]
}

const actions = enumValues('batch.PodFailurePolicyAction')

function validateAction(field: string, action: string | undefined, spec: Partial<JobSpec>): FieldError[] {
  if (action === 'FailIndex') {
    if (spec.backoffLimitPerIndex !== undefined) return []
    return [invalid(field, action, 'requires the backoffLimitPerIndex to be set')]
  }
  return validateListed(field, action, actions)
}

/** Validates a mandatory enum value; if it is missing, the error lists the valid values. */
function validateListed(field: string, value: string | undefined, choices: readonly string[]): FieldError[] {
  if (!value) return [required(field, `valid values: [${choices.map(quote).join(' ')}]`)]
  return choices.includes(value) ? [] : [notSupported(field, value, choices)]
}

function validateRule(field: string, rule: PodFailurePolicyRule, names: ReadonlySet<string>): FieldError[] {
  const { onExitCodes, onPodConditions = [] } = rule
  const errors = [
    ...(onExitCodes ? validateExitCodes(`${field}.onExitCodes`, onExitCodes, names) : []),
    ...(onPodConditions.length > patternsMax
      ? [tooMany(`${field}.onPodConditions`, onPodConditions.length, patternsMax)]
      : []),
    ...onPodConditions.flatMap((pattern, index) => {
      return validatePattern(`${field}.onPodConditions[${index}]`, pattern)
    }),
  ]
  const hasPatterns = onPodConditions.length > 0
  if (onExitCodes !== undefined && hasPatterns) {
    errors.push(invalidWhole(field, 'specifying both OnExitCodes and OnPodConditions is not supported'))
  }
  if (onExitCodes === undefined && !hasPatterns) {
    errors.push(invalidWhole(field, 'specifying one of OnExitCodes and OnPodConditions is required'))
  }
  return errors
}

/** An `invalid` error that does not print the value. */
export function invalidWhole(field: string, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, detail }
}

function validatePattern(
  field: string,
  pattern: Partial<PodFailurePolicyOnPodConditionsPattern>,
): FieldError[] {
  const { type = '', status } = pattern
  return [
    ...invalidEach(`${field}.type`, type, checkQualifiedName(type)),
    ...validateListed(`${field}.status`, status, ['False', 'True', 'Unknown']),
  ]
}

function validateExitCodes(
  field: string,
  requirement: Partial<PodFailurePolicyOnExitCodesRequirement>,
  names: ReadonlySet<string>,
): FieldError[] {
  const { operator, containerName, values = [] } = requirement
  const errors = validateListed(
    `${field}.operator`,
    operator,
    enumValues('batch.PodFailurePolicyOnExitCodesOperator'),
  )
  if (containerName !== undefined && !names.has(containerName)) {
    const detail = 'must be one of the container or initContainer names in the pod template'
    errors.push(invalid(`${field}.containerName`, containerName, detail))
  }
  if (values.length === 0) errors.push(invalid(`${field}.values`, values, 'at least one value is required'))
  else if (values.length > exitCodesMax) errors.push(tooMany(`${field}.values`, values.length, exitCodesMax))
  const seen = new Set<number>()
  for (const [index, value] of values.entries()) {
    const place = `${field}.values[${index}]`
    if (operator === 'In' && value === 0) {
      errors.push(invalid(place, value, 'must not be 0 for the In operator'))
    }
    if (seen.has(value)) errors.push(duplicate(place, value))
    seen.add(value)
  }
  const isOrdered = values.every((value, index) => index === 0 || value >= (values[index - 1] ?? value))
  return isOrdered ? errors : [...errors, invalid(`${field}.values`, values, 'must be ordered')]
}

export function validateSuccessPolicy(
  field: string,
  policy: SuccessPolicy,
  completions: number,
): FieldError[] {
  const rules = policy.rules ?? []
  const errors: FieldError[] = []
  if (rules.length === 0) {
    const detail = 'at least one rules must be specified when the successPolicy is specified'
    errors.push(required(`${field}.rules`, detail))
  }
  if (rules.length > rulesMax) errors.push(tooMany(`${field}.rules`, rules.length, rulesMax))
  return [
    ...errors,
    ...rules.flatMap((rule, index) => validateSuccess(`${field}.rules[${index}]`, rule, completions)),
  ]
}

function validateSuccess(field: string, rule: SuccessPolicyRule, completions: number): FieldError[] {
  const { succeededCount: count, succeededIndexes: indexes } = rule
  if (count === undefined && indexes === undefined) {
    return [required(field, 'at least one of succeededCount or succeededIndexes must be specified')]
  }
  const errors: FieldError[] = []
  const ranges = indexes === undefined ? undefined : parseIndexRanges(indexes, completions)
  if (indexes !== undefined && indexes.length > indexesBytesMax) {
    errors.push(tooLong(`${field}.succeededIndexes`, indexesBytesMax))
  }
  if (typeof ranges === 'string') {
    errors.push(invalid(`${field}.succeededIndexes`, indexes, `error parsing succeededIndexes: ${ranges}`))
  }
  if (count === undefined) return errors
  errors.push(...validateNonNegative(`${field}.succeededCount`, count))
  const refuse = (limit: number, what: string): void => {
    const detail = `must be less than or equal to ${limit} (the number of ${what})`
    errors.push(invalid(`${field}.succeededCount`, count, detail))
  }
  if (count > completions) refuse(completions, 'specified completions')
  const total = typeof ranges === 'object' ? countIndexes(ranges) : 0
  if (indexes !== undefined && count > total) refuse(total, 'indexes in the specified succeededIndexes field')
  return errors
}
