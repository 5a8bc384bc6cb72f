/** Validation of the field and label selectors in the resource attributes of an access review. */
import { forbiddenField, invalid, invalidEach, required, type FieldError } from '../../field-error.ts'
import type { ResourceAttributes } from '../../generated/authorization/v1.ts'
import { validateLabelName } from '../../labels.ts'
import { checkLabelValue } from '../../names.ts'
import type { Unchecked } from '../validation/unchecked.ts'

interface Requirement {
  readonly key?: string
  readonly operator?: string
  readonly values?: readonly string[]
}

interface Attributes {
  readonly rawSelector?: string
  readonly requirements?: readonly Requirement[]
}

export function validateSelectors({
  resourceAttributes = {},
}: {
  readonly resourceAttributes?: Unchecked<ResourceAttributes>
}): FieldError[] {
  const field = 'spec.resourceAttributes'
  const { fieldSelector, labelSelector } = resourceAttributes
  return [
    ...validateAttributes(`${field}.fieldSelector`, fieldSelector, validateFieldRequirement),
    ...validateAttributes(`${field}.labelSelector`, labelSelector, validateLabelRequirement),
  ]
}

/** A selector is given either raw or as a list of requirements. */
function validateAttributes(
  field: string,
  selector: Attributes | undefined,
  validateRequirement: (field: string, requirement: Requirement) => FieldError[],
): FieldError[] {
  if (!selector) return []
  const { rawSelector = '', requirements = [] } = selector
  const errors: FieldError[] = []
  if (rawSelector !== '' && requirements.length > 0) {
    const detail = 'may not specified at the same time as requirements'
    errors.push(invalid(`${field}.rawSelector`, rawSelector, detail))
  }
  if (rawSelector === '' && requirements.length === 0) {
    const detail = `when ${field} is specified, requirements or rawSelector is required`
    errors.push(required(`${field}.requirements`, detail))
  }
  return [
    ...errors,
    ...requirements.flatMap((requirement, index) => {
      return validateRequirement(`${field}.requirements[${index}]`, requirement)
    }),
  ]
}

function validateFieldRequirement(field: string, requirement: Requirement): FieldError[] {
  const missing = requirement.key ? [] : [required(`${field}.key`, 'must be specified')]
  return [...missing, ...validateValueCount(field, requirement)]
}

function validateLabelRequirement(field: string, requirement: Requirement): FieldError[] {
  const { key = '', values = [] } = requirement
  return [
    ...validateValueCount(field, requirement),
    ...validateLabelName(`${field}.key`, key),
    ...values.flatMap((value, index) => {
      return invalidEach(`${field}.values[${index}]`, value, checkLabelValue(value))
    }),
  ]
}

/** Unknown operators are accepted: an authorizer may support them. */
function validateValueCount(field: string, { operator, values = [] }: Requirement): FieldError[] {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return []
    return [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
  }
  const takesNone = operator === 'Exists' || operator === 'DoesNotExist'
  if (!takesNone || values.length === 0) return []
  const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
  return [forbiddenField(`${field}.values`, detail)]
}
