/** Validation of the resource requirements of containers and pods. */
import {
  duplicate,
  forbiddenField,
  invalid,
  notFoundField,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { PodSpec, ResourceClaim, ResourceRequirements } from '../../generated/core/v1.ts'
import { compareQuantities, formatQuantity, type Quantity } from '../../text/quantity.ts'
import { validateDnsLabel } from '../validation/field-checks.ts'
import {
  aggregateContainerResources,
  amountsOf,
  quantityOf,
  type ResourceList,
} from '../../core/resource-amounts.ts'
import {
  isHugePageResourceName,
  isOvercommitAllowed,
  isIntegerResourceName,
  isHugePageResourceValueDivisible,
  validateContainerResource,
  validatePodResource,
} from '../../core/resource-names.ts'

type NameCheck = (field: string, name: string) => FieldError[]

export function validateContainerResources(
  field: string,
  resources: ResourceRequirements,
  claims: ReadonlySet<string>,
): FieldError[] {
  return [
    ...validateRequirements(field, resources, validateContainerResource),
    ...validateClaims(`${field}.claims`, resources.claims ?? [], claims),
  ]
}

/** Validates the pod overhead. */
export function validateOverhead(field: string, overhead: ResourceList): FieldError[] {
  return validateRequirements(field, { limits: overhead }, validateContainerResource)
}

export function validatePodResources(
  field: string,
  spec: PodSpec,
  claimNames: ReadonlySet<string>,
): FieldError[] {
  const { resources, os } = spec
  if (resources === undefined) return []
  if (os?.name === 'windows') return [forbiddenField(field, 'may not be set for a windows pod')]
  return [
    ...(resources.claims
      ? [forbiddenField(`${field}.claims`, 'claims may not be set for Resources at pod-level')]
      : []),
    ...validateRequirements(field, resources, validatePodResource),
    ...validateClaims(`${field}.claims`, resources.claims ?? [], claimNames),
    ...validateEnoughForContainers(field, spec, resources),
  ]
}

function validateRequirements(
  field: string,
  resources: ResourceRequirements,
  checkName: NameCheck,
): FieldError[] {
  const { limits = {}, requests = {} } = resources
  const bounds = amountsOf(limits)
  const errors: FieldError[] = []
  for (const [name, text] of Object.entries(limits)) {
    errors.push(
      ...validateAmount(`${field}.limits[${name}]`, { name, text }, checkName),
      ...validateHugePages(`${field}.limits[${name}]`, { name, text }),
    )
  }
  for (const [name, text] of Object.entries(requests)) {
    errors.push(
      ...validateAmount(`${field}.requests[${name}]`, { name, text }, checkName),
      ...validateWithinLimit(field, { name, text }, { limit: bounds.get(name), limitText: limits[name] }),
      ...validateHugePages(`${field}.requests[${name}]`, { name, text }),
    )
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)]
  if (names.some(isHugePageResourceName) && !names.includes('cpu') && !names.includes('memory')) {
    errors.push(forbiddenField(field, 'HugePages require cpu or memory'))
  }
  return errors
}

interface NamedAmount {
  readonly name: string
  readonly text: string
}

function validateAmount(field: string, { name, text }: NamedAmount, checkName: NameCheck): FieldError[] {
  const amount = quantityOf(text)
  const errors = checkName(field, name)
  if (amount.nanos < 0n) errors.push(invalid(field, text, 'must be greater than or equal to 0'))
  if (isIntegerResourceName(name) && amount.nanos % 1_000_000_000n !== 0n) {
    errors.push(invalid(field, text, 'must be an integer'))
  }
  return errors
}

function validateHugePages(field: string, { name, text }: NamedAmount): FieldError[] {
  if (!isHugePageResourceName(name) || isHugePageResourceValueDivisible(name, quantityOf(text))) return []
  return [invalid(field, text, `${text} is not positive integer multiple of ${name}`)]
}

interface Bound {
  readonly limit: Quantity | undefined
  readonly limitText: string | undefined
}

function validateWithinLimit(field: string, { name, text }: NamedAmount, bound: Bound): FieldError[] {
  const { limit, limitText } = bound
  const mayDiffer = isOvercommitAllowed(name)
  if (limit === undefined) {
    if (mayDiffer) return []
    return [required(`${field}.limits`, 'Limit must be set for non overcommitable resources')]
  }
  const order = compareQuantities(quantityOf(text), limit)
  if (order === 0 || (order < 0 && mayDiffer)) return []
  const relation = mayDiffer ? 'less than or equal to' : 'equal to'
  return [invalid(`${field}.requests`, text, `must be ${relation} ${name} limit of ${limitText}`)]
}

function validateClaims(
  field: string,
  claims: readonly ResourceClaim[],
  known: ReadonlySet<string>,
): FieldError[] {
  const errors: FieldError[] = []
  const whole = new Set<string>()
  const parts = new Set<string>()
  const partlyUsed = new Set<string>()
  for (const [index, { name, request }] of claims.entries()) {
    const place = `${field}[${index}]`
    if (!name) {
      errors.push(required(place, ''))
      continue
    }
    if (whole.has(name)) errors.push(duplicate(place, name))
    else if (request) {
      errors.push(...validateDnsLabel(`${place}.request`, request))
      if (parts.has(`${name}/${request}`)) errors.push(duplicate(place, `${name}/${request}`))
      parts.add(`${name}/${request}`)
      partlyUsed.add(name)
    } else {
      if (partlyUsed.has(name)) errors.push(duplicate(place, name))
      whole.add(name)
    }
    if (!known.has(name)) errors.push(unknownClaim(place, name, known))
  }
  return errors
}

function unknownClaim(field: string, name: string, known: ReadonlySet<string>): FieldError {
  const rest = known.size === 0 ? ' which is empty' : `: ${[...known].sort().join(', ')}`
  return {
    ...notFoundField(field, name),
    detail: `must be one of the names in pod.spec.resourceClaims${rest}`,
  }
}

/** Pod-level resources must cover the sum of the containers. */
function validateEnoughForContainers(
  field: string,
  spec: PodSpec,
  resources: ResourceRequirements,
): FieldError[] {
  const { limits = {}, requests = {} } = resources
  const errors: FieldError[] = []
  const compare = (
    kind: 'requests' | 'limits',
    list: ResourceList,
    matters: (name: string) => boolean,
  ): void => {
    for (const [name, needed] of aggregateContainerResources(spec, kind)) {
      const text = Object.hasOwn(list, name) ? list[name] : undefined
      if (text === undefined || !matters(name) || compareQuantities(needed, quantityOf(text)) <= 0) continue
      const detail = `must be greater than or equal to aggregate container ${kind} of ${formatQuantity(needed)}`
      errors.push(invalid(`${field}.${kind}[${name}]`, text, detail))
    }
  }
  compare('requests', requests, () => true)
  compare('limits', limits, isHugePageResourceName)
  const bounds = amountsOf(limits)
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [name, text] of Object.entries(container.resources?.limits ?? {})) {
      const bound = bounds.get(name)
      if (bound === undefined || compareQuantities(quantityOf(text), bound) <= 0) continue
      const detail = `must be less than or equal to pod limits of ${limits[name]}`
      errors.push(invalid(`${field}.containers[${index}][${name}].limits`, text, detail))
    }
  }
  return errors
}
