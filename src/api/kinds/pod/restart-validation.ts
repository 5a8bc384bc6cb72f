/** Validation of restart policies, restart rules and resize policies. */
import { enumValues } from '../../definitions.ts'
import { duplicate, invalid, notSupported, required, tooMany, type FieldError } from '../../field-error.ts'
import type { Container, ContainerResizePolicy, ContainerRestartRule } from '../../generated/core/v1.ts'
import { validateChoice, validateOptionalChoice } from '../validation/field-checks.ts'

const rulesMax = 20
const exitCodesMax = 255

export function validateContainerRestart(field: string, container: Container): FieldError[] {
  const { restartPolicy, restartPolicyRules: rules = [] } = container
  const errors = validateOptionalChoice(
    `${field}.restartPolicy`,
    restartPolicy,
    enumValues('core.RestartPolicy'),
  )
  if (restartPolicy === undefined && rules.length > 0) {
    errors.push(required(`${field}.restartPolicy`, 'must specify restartPolicy when restart rules are used'))
  }
  if (rules.length > rulesMax) errors.push(tooMany(`${field}.restartPolicyRules`, rules.length, rulesMax))
  return [
    ...errors,
    ...rules.flatMap((rule, index) => validateRule(`${field}.restartPolicyRules[${index}]`, rule)),
  ]
}

function validateRule(
  field: string,
  { action = '', exitCodes }: Partial<ContainerRestartRule>,
): FieldError[] {
  const errors = validateOptionalChoice(`${field}.action`, action, ['Restart', 'RestartAllContainers'])
  if (exitCodes === undefined) return [...errors, required(`${field}.exitCodes`, 'must be specified')]
  const { operator, values = [] } = exitCodes
  errors.push(...validateOptionalChoice(`${field}.exitCodes.operator`, operator ?? '', ['In', 'NotIn']))
  if (values.length > exitCodesMax) {
    errors.push(tooMany(`${field}.exitCodes.values`, values.length, exitCodesMax))
  }
  return errors
}

/** As in Kubernetes, errors other than duplicates refer to the list, not to the entry. */
export function validateResizePolicy(
  field: string,
  policies: readonly ContainerResizePolicy[] | undefined,
  podRestartPolicy: string | undefined,
): FieldError[] {
  const seen = new Set<string>()
  return (policies ?? []).flatMap(({ resourceName, restartPolicy }, index) => {
    const errors = seen.has(resourceName) ? [duplicate(`${field}[${index}]`, resourceName)] : []
    seen.add(resourceName)
    errors.push(
      ...validateChoice(field, resourceName, ['cpu', 'memory']),
      ...validateChoice(field, restartPolicy, ['NotRequired', 'RestartContainer']),
    )
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      errors.push(
        invalid(field, restartPolicy ?? '', "must be 'NotRequired' when pod `restartPolicy` is 'Never'"),
      )
    }
    return errors
  })
}

const restartPolicies = ['Always', 'OnFailure', 'Never']

export function validatePodRestartPolicy(field: string, policy: string | undefined): FieldError[] {
  if (!policy) return [required(field, '')]
  return restartPolicies.includes(policy) ? [] : [notSupported(field, policy, restartPolicies)]
}
