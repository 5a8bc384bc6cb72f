/**
 * Validation of `metav1.Condition`.
 * https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/conditions/
 */
import {
  duplicate,
  invalid,
  invalidEach,
  notSupported,
  required,
  tooLong,
  type FieldError,
} from '../../field-error.ts'
import type { Condition } from '../../generated/meta/v1.ts'
import { validateLabelName } from '../../labels.ts'
import { regexMessage } from '../../names.ts'
import type { Unchecked } from './unchecked.ts'

/** Each type must be unique. */
export function validateConditions(
  field: string,
  conditions: readonly Unchecked<Condition>[] | undefined,
): FieldError[] {
  const types = new Set<string>()
  return (conditions ?? []).flatMap((condition, index) => {
    const { type = '' } = condition
    const repeated = types.has(type) ? [duplicate(`${field}[${index}].type`, type)] : []
    types.add(type)
    return [...repeated, ...validateCondition(`${field}[${index}]`, condition)]
  })
}

export const conditionStatuses: readonly string[] = ['False', 'True', 'Unknown']

const reasonBytesMax = 1_024
const messageBytesMax = 32 * 1_024

function validateCondition(field: string, condition: Unchecked<Condition>): FieldError[] {
  const { type = '', status = '', observedGeneration = 0, reason = '', message = '' } = condition
  const errors = validateLabelName(`${field}.type`, type)
  if (!conditionStatuses.includes(status)) {
    errors.push(notSupported(`${field}.status`, status, conditionStatuses))
  }
  if (observedGeneration < 0) {
    const detail = 'must be greater than or equal to zero'
    errors.push(invalid(`${field}.observedGeneration`, observedGeneration, detail))
  }
  if (!condition.lastTransitionTime) errors.push(required(`${field}.lastTransitionTime`, ''))
  if (reason === '') errors.push(required(`${field}.reason`, ''))
  else errors.push(...invalidEach(`${field}.reason`, reason, checkReason(reason)))
  if (Buffer.byteLength(reason) > reasonBytesMax) errors.push(tooLong(`${field}.reason`, reasonBytesMax))
  if (Buffer.byteLength(message) > messageBytesMax) errors.push(tooLong(`${field}.message`, messageBytesMax))
  return errors
}

function checkReason(reason: string): string[] {
  if (!/[^A-Za-z0-9_,:]|^[^A-Za-z]|[,:]$/.test(reason)) return []
  const rule =
    'a condition reason must start with alphabetic character, optionally followed by a string ' +
    "of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'"
  const examples = ['my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB']
  return [regexMessage(rule, '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?', examples)]
}
