/** Validation of resource quantities in quotas, limit ranges, nodes and volumes. */
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import { checkQualifiedName } from '../../names.ts'
import { formatQuantity, quantityMilliValue, quantityValue } from '../../text/quantity.ts'
import { quantityOf, type ResourceList } from '../../core/resource-amounts.ts'
import { hugePagesPrefix, isIntegerResourceName } from '../../core/resource-names.ts'

export function validateNonNegativeQuantity(field: string, text: string): FieldError[] {
  const quantity = quantityOf(text)
  if (quantity.nanos >= 0n) return []
  return [invalid(field, formatQuantity(quantity), 'must be greater than or equal to 0')]
}

export function validatePositiveQuantity(field: string, text: string): FieldError[] {
  const quantity = quantityOf(text)
  return quantity.nanos > 0n ? [] : [invalid(field, formatQuantity(quantity), 'must be greater than zero')]
}

/** The quantity must not be negative, and must be an integer for countable resources. */
export function validateAmount(field: string, name: string, text: string): FieldError[] {
  const errors = validateNonNegativeQuantity(field, text)
  const isWhole = !isIntegerResourceName(name) || quantityMilliValue(quantityOf(text)) % 1_000n === 0n
  return isWhole ? errors : [...errors, invalid(field, text, 'must be an integer')]
}

/** The quantity must not be negative. The error shows its integer value. */
export function validateStoredAmount(field: string, text: string): FieldError[] {
  const value = quantityValue(quantityOf(text))
  return value < 0n ? [invalid(field, value, 'must be a valid resource quantity')] : []
}

/** Validates quantities and resource names of a quota. */
export function validateQuotaAmounts(field: string, list: ResourceList | undefined): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, text]) => [
    ...validateQuotaResource(`${field}[${name}]`, name),
    ...validateAmount(`${field}[${name}]`, name, text),
  ])
}

/** True for a standard quota resource; other resources must be qualified with a group. */
export function isStandardQuotaResource(name: string): boolean {
  return quotaResources.has(name) || isHugePagesQuota(name)
}

/** Validates a standard or fully qualified resource name. */
export function validateResourceName(field: string, name: string): FieldError[] {
  const errors = invalidEach(field, name, checkQualifiedName(name))
  const isStandard = name === 'storage' || isStandardQuotaResource(name)
  if (errors.length > 0 || name.includes('/') || isStandard) return errors
  return [invalid(field, name, 'must be a standard resource type or fully qualified')]
}

function validateQuotaResource(field: string, name: string): FieldError[] {
  const errors = validateResourceName(field, name)
  if (name.includes('/') || isStandardQuotaResource(name)) return errors
  return [...errors, invalid(field, name, 'must be a standard resource for quota')]
}

function isHugePagesQuota(name: string): boolean {
  return name.startsWith(hugePagesPrefix) || name.startsWith(`requests.${hugePagesPrefix}`)
}

const quotaResources: ReadonlySet<string> = new Set([
  'cpu',
  'memory',
  'ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
])
