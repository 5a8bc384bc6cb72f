/** Validation of device capacity and its request policy. */
import { duplicate, forbiddenField, invalid, required, tooMany, type FieldError } from '../../field-error.ts'
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceCapacity,
} from '../../generated/resource/v1.ts'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '../../text/quantity.ts'
import type { Unchecked } from '../validation/unchecked.ts'

/** Only a device that allows multiple allocations may have a request policy. */
export function validateCapacity(
  field: string,
  capacity: Unchecked<DeviceCapacity>,
  isShared: boolean,
): FieldError[] {
  const { requestPolicy: policy, value } = capacity
  if (!policy) return []
  const policyField = `${field}.requestPolicy`
  if (!isShared) return [forbiddenField(policyField, 'allowMultipleAllocations must be true')]
  const { validValues = [], validRange } = policy
  if (validValues.length > 0 && validRange) {
    const detail =
      'exactly one policy can be specified, cannot specify "validValues" and ' +
      '"validRange" at the same time'
    return [forbiddenField(policyField, detail)]
  }
  return validatePolicy(policyField, policy, amountOf(value))
}

const optionsMax = 10

function validatePolicy(
  field: string,
  policy: Unchecked<CapacityRequestPolicy>,
  capacity: Quantity,
): FieldError[] {
  const { validValues = [], validRange, default: given } = policy
  if (validValues.length === 0 && !validRange) return []
  const name = validRange ? 'validRange' : 'validValues'
  if (given === undefined) return [required(`${field}.default`, `required when ${name} is defined`)]
  const place = `${field}.${name}`
  return validRange
    ? validateRange(place, validRange, { standard: amountOf(given), capacity })
    : validateOptions(place, validValues.map(amountOf), { standard: amountOf(given), capacity })
}

interface Amounts {
  /** Default amount for claims that do not request one. */
  readonly standard: Quantity
  readonly capacity: Quantity
}

function validateOptions(
  field: string,
  options: readonly Quantity[],
  { standard, capacity }: Amounts,
): FieldError[] {
  if (options.length > optionsMax) return [tooMany(field, options.length, optionsMax)]
  const errors: FieldError[] = []
  const seen = new Set<bigint>()
  for (const [index, option] of options.entries()) {
    const [place, text, previous] = [`${field}[${index}]`, formatQuantity(option), options[index - 1]]
    if (previous && compareQuantities(previous, option) > 0) {
      errors.push(invalid(place, text, 'values must be sorted in ascending order'))
    }
    if (compareQuantities(option, capacity) > 0) {
      errors.push(invalid(place, text, `option is larger than capacity value: ${formatQuantity(capacity)}`))
    }
    if (seen.has(option.nanos)) errors.push(duplicate(place, text))
    seen.add(option.nanos)
  }
  if (seen.has(standard.nanos)) return errors
  const detail = 'default value is not valid according to the requestPolicy'
  return [...errors, invalid(field, formatQuantity(standard), detail)]
}

function validateRange(
  field: string,
  range: Unchecked<CapacityRequestPolicyRange>,
  { standard, capacity }: Amounts,
): FieldError[] {
  if (range.min === undefined) return [required(`${field}.min`, 'required when validRange is defined')]
  const min = amountOf(range.min)
  const whole = formatQuantity(capacity)
  const errors: FieldError[] = []
  if (compareQuantities(min, capacity) > 0) {
    errors.push(invalid(`${field}.min`, formatQuantity(min), `min is larger than capacity value: ${whole}`))
  }
  if (compareQuantities(standard, min) < 0) {
    const detail = `default is less than min: ${formatQuantity(min)}`
    errors.push(invalid(`${field}.min`, formatQuantity(standard), detail))
  }
  const max = range.max === undefined ? undefined : amountOf(range.max)
  if (max) errors.push(...validateMax(`${field}.max`, { min, max, standard, capacity }))
  if (range.step === undefined) return errors
  const step = amountOf(range.step)
  const first = addQuantities(min, step)
  if (compareQuantities(first, capacity) > 0) {
    const detail = `one step ${formatQuantity(first)} is larger than capacity value: ${whole}`
    errors.push(invalid(`${field}.step`, formatQuantity(step), detail))
  }
  const reached = max ? [standard, max] : [standard]
  return [...errors, ...reached.flatMap(amount => validateStep(`${field}.step`, amount, { min, step }))]
}

function validateMax(
  field: string,
  { min, max, standard, capacity }: Amounts & { readonly min: Quantity; readonly max: Quantity },
): FieldError[] {
  const text = formatQuantity(max)
  const errors: FieldError[] = []
  if (compareQuantities(min, max) > 0) {
    errors.push(invalid(field, formatQuantity(min), `min is larger than max: ${text}`))
  }
  if (compareQuantities(max, capacity) > 0) {
    errors.push(invalid(field, text, `max is larger than capacity value: ${formatQuantity(capacity)}`))
  }
  if (compareQuantities(standard, max) > 0) {
    errors.push(invalid(field, formatQuantity(standard), `default is more than max: ${text}`))
  }
  return errors
}

/** The amount must be `min` plus a multiple of the step. */
function validateStep(
  field: string,
  amount: Quantity,
  { min, step }: { readonly min: Quantity; readonly step: Quantity },
): FieldError[] {
  const size = quantityValue(step)
  const isReached = size !== 0n && (quantityValue(amount) - quantityValue(min)) % size === 0n
  if (isReached) return []
  const detail =
    `value is not a multiple of a given step (${formatQuantity(step)}) from ` + `(${formatQuantity(min)})`
  return [invalid(field, formatQuantity(amount), detail)]
}

function amountOf(text: string | undefined): Quantity {
  return (text === undefined ? undefined : tryParseQuantity(text)) ?? zeroQuantity
}
