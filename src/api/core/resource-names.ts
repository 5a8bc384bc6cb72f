/**
 * Resource names in containers: `cpu`, `hugepages-2Mi`, `example.com/gpu`.
 * https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/
 */
import { invalid, invalidEach, notSupported, type FieldError } from '../field-error.ts'
import { checkQualifiedName } from '../names.ts'
import { quantityValue, tryParseQuantity, type Quantity } from '../text/quantity.ts'

export const hugePagesPrefix = 'hugepages-'
const quotaPrefix = 'requests.'

export function isHugePageResourceName(name: string): boolean {
  return name.startsWith(hugePagesPrefix)
}

/** True for a resource defined by Kubernetes. */
export function isNativeResource(name: string): boolean {
  return !name.includes('/') || name.includes('kubernetes.io/')
}

/** True for an extended resource, which is allocated in integers. */
export function isExtendedResourceName(name: string): boolean {
  if (isNativeResource(name) || name.startsWith(quotaPrefix)) return false
  return checkQualifiedName(quotaPrefix + name).length === 0
}

/** True if limits may exceed requests. */
export function isOvercommitAllowed(name: string): boolean {
  return isNativeResource(name) && !isHugePageResourceName(name)
}

export function isIntegerResourceName(name: string): boolean {
  return countedResources.has(name) || isExtendedResourceName(name)
}

/** True if the resource is supported in pod-level resources. */
export function isSupportedPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || isHugePageResourceName(name)
}

/** True if the amount is a multiple of the hugepage size in the name. */
export function isHugePageResourceValueDivisible(name: string, amount: Quantity): boolean {
  const page = tryParseQuantity(name.slice(hugePagesPrefix.length))
  if (page === undefined || page.nanos <= 0n || page.nanos % 1_000_000_000n !== 0n) return false
  return quantityValue(amount) % quantityValue(page) === 0n
}

/** Validates the name of a container resource. */
export function validateContainerResource(field: string, name: string): FieldError[] {
  const errors = validateResourceName(field, name)
  if (!name.includes('/')) {
    if (containerResources.has(name) || isHugePageResourceName(name)) return errors
    return [...errors, invalid(field, name, 'must be a standard resource for containers')]
  }
  if (isNativeResource(name) || isExtendedResourceName(name)) return errors
  return [...errors, invalid(field, name, "doesn't follow extended resource name standard")]
}

/** Validates the name of a pod-level resource. */
export function validatePodResource(field: string, name: string): FieldError[] {
  const errors = validateResourceName(field, name)
  if (errors.length > 0 || isSupportedPodLevelResource(name)) return errors
  return [notSupported(field, name, ['cpu', hugePagesPrefix, 'memory'])]
}

function validateResourceName(field: string, name: string): FieldError[] {
  const errors = invalidEach(field, name, checkQualifiedName(name))
  if (errors.length > 0 || name.includes('/') || isStandard(name)) return errors
  return [invalid(field, name, 'must be a standard resource type or fully qualified')]
}

function isStandard(name: string): boolean {
  return (
    standardResources.has(name) ||
    isHugePageResourceName(name) ||
    name.startsWith(quotaPrefix + hugePagesPrefix)
  )
}

const containerResources: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage'])
const countedResources: ReadonlySet<string> = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
const standardResources: ReadonlySet<string> = new Set([
  ...containerResources,
  ...countedResources,
  'storage',
  'requests.storage',
  ...[...containerResources].flatMap(name => [`requests.${name}`, `limits.${name}`]),
])
