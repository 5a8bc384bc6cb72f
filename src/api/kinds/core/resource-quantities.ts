/** Amounts of resources in objects that count them: quotas, limit ranges, nodes, volumes. */
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import { checkQualifiedName } from '../../names.ts'
import { formatQuantity, quantityMilliValue, quantityValue } from '../../quantity.ts'
import { quantityOf, type ResourceList } from './pod/resource-amounts.ts'
import { hugePagesPrefix, isWholeNumber } from './pod/resource-names.ts'

export function validateNonNegativeQuantity(field: string, text: string): FieldError[] {
  const quantity = quantityOf(text)
  if (quantity.nanos >= 0n) return []
  return [invalid(field, formatQuantity(quantity), 'must be greater than or equal to 0')]
}

export function validatePositiveQuantity(field: string, text: string): FieldError[] {
  const quantity = quantityOf(text)
  return quantity.nanos > 0n ? [] : [invalid(field, formatQuantity(quantity), 'must be greater than zero')]
}

/** An amount that is there: not negative, and whole where pieces are counted. */
export function validateAmount(field: string, name: string, text: string): FieldError[] {
  const errors = validateNonNegativeQuantity(field, text)
  const isWhole = !isWholeNumber(name) || quantityMilliValue(quantityOf(text)) % 1_000n === 0n
  return isWhole ? errors : [...errors, invalid(field, text, 'must be an integer')]
}

/** What can be stored: not negative. The value shown is the whole number of it. */
export function validateStoredAmount(field: string, text: string): FieldError[] {
  const value = quantityValue(quantityOf(text))
  return value < 0n ? [invalid(field, value, 'must be a valid resource quantity')] : []
}

/** Amounts by resources of which a quota is kept. */
export function validateQuotaAmounts(field: string, list: ResourceList | undefined): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, text]) => [
    ...validateQuotaResource(`${field}[${name}]`, name),
    ...validateAmount(`${field}[${name}]`, name, text),
  ])
}

/** Whether quotas know a resource by itself; others they count by the name of their group. */
export function isStandardQuotaResource(name: string): boolean {
  return quotaResources.has(name) || isHugePagesQuota(name)
}

/** A resource as a whole cluster knows it. */
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
