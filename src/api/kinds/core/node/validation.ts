/** Validation of Node. */
import { parseCidr, validateCidrForLegacyField } from '../../../net/cidr.ts'
import { duplicate, forbiddenField, invalid, type FieldError } from '../../../field-error.ts'
import type { Node, NodeStatus, Taint } from '../../../generated/core/v1.ts'
import { validateLabelName } from '../../../labels.ts'
import { checkLabelValue } from '../../../names.ts'
import { quote } from '../../../text/quote.ts'
import { validateChoice, validatePositive } from '../../validation/field-checks.ts'
import type { ResourceList } from '../../../core/resource-amounts.ts'
import { validateAmount } from '../../validation/resource-quantities.ts'
import { validateConfigSource, validateConfigStatus } from './config-validation.ts'

/** Validation without the old object. Errors of taints have the path `metadata.taints`, as in Kubernetes. */
export function validateNode({ spec = {}, status = {} }: Node): FieldError[] {
  const swapBytes = status.nodeInfo?.swap?.capacity
  return [
    ...validateTaints('metadata.taints', spec.taints ?? []),
    ...validateResources(status),
    ...(swapBytes === undefined ? [] : validatePositive('metadata.nodeSwapStatus.capacity', swapBytes)),
    ...validateDeclaredFeatures(status.declaredFeatures ?? []),
    ...validatePodCidrs(spec.podCIDRs ?? []),
  ]
}

/** Immutable fields, and checks of the status that apply to every update. */
export function validateNodeUpdate(node: Node, old: Node): FieldError[] {
  const { spec = {}, status = {} } = node
  return [
    ...validateResources(status),
    ...validateDeclaredFeatures(status.declaredFeatures ?? []),
    ...validateAddresses(status),
    ...validateImmutableSpec(node, old),
    ...(spec.configSource ? validateConfigSource('spec.configSource', spec.configSource) : []),
    ...(status.config ? validateConfigStatus('status.config', status.config) : []),
    ...validateTaints('metadata.taints', spec.taints ?? []),
    ...((spec.externalID ?? '') === (old.spec?.externalID ?? '')
      ? []
      : [forbiddenField('spec.externalID', 'may not be updated')]),
  ]
}

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

function validateTaints(field: string, taints: readonly Taint[]): FieldError[] {
  const seen = new Set<string>()
  return taints.flatMap((taint, index) => {
    const errors = validateTaint(`${field}[${index}]`, taint)
    const identity = `${taint.effect ?? ''} ${taint.key ?? ''}`
    if (seen.has(identity)) {
      const detail = 'taints must be unique by key and effect pair'
      errors.push({ ...duplicate(`${field}[${index}]`, shownTaint(taint)), detail })
    }
    seen.add(identity)
    return errors
  })
}

function validateTaint(field: string, taint: Taint): FieldError[] {
  const { value = '' } = taint
  const messages = checkLabelValue(value)
  return [
    ...validateLabelName(`${field}.key`, taint.key ?? ''),
    ...(messages.length > 0 ? [invalid(`${field}.value`, value, messages.join(';'))] : []),
    ...validateChoice(`${field}.effect`, taint.effect, taintEffects),
  ]
}

/** A taint with Go's field names, as printed in error messages. */
function shownTaint({ key, value = '', effect, timeAdded }: Taint): object {
  return { Key: key ?? '', Value: value, Effect: effect ?? '', TimeAdded: timeAdded ?? null }
}

function validateResources({ capacity, allocatable }: NodeStatus): FieldError[] {
  const validateList = (field: string, list: ResourceList = {}): FieldError[] => {
    return Object.entries(list).flatMap(([name, amount]) => validateAmount(`${field}.${name}`, name, amount))
  }
  return [...validateList('status.capacity', capacity), ...validateList('status.allocatable', allocatable)]
}

const featureNameMax = 253

function validateDeclaredFeatures(features: readonly string[]): FieldError[] {
  const field = 'status.declaredFeatures'
  return features.flatMap((feature, index) => {
    const errors = validateFeatureName(`${field}[${index}]`, feature)
    const previous = features[index - 1]
    if (previous === feature) errors.push(duplicate(`${field}[${index}]`, feature))
    if (previous !== undefined && previous > feature) {
      errors.push(invalid(`${field}[${index}]`, feature, 'list must be sorted alphabetically'))
    }
    return errors
  })
}

function validateFeatureName(field: string, name: string): FieldError[] {
  if (name.length > featureNameMax) {
    const detail = `invalid feature name ${quote(name)}: must be no more than ${featureNameMax} characters`
    return [invalid(field, name, detail)]
  }
  if (/^[A-Z][a-zA-Z0-9]*(?:\/[a-zA-Z][a-zA-Z0-9]*)*$/.test(name)) return []
  const detail =
    `invalid feature name ${quote(name)}: must start with an UpperCamelCase segment, with ` +
    "subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only " +
    'alphanumeric characters and slashes'
  return [invalid(field, name, detail)]
}

function validatePodCidrs(ranges: readonly string[]): FieldError[] {
  const field = 'spec.podCIDRs'
  const errors = ranges.flatMap((range, index) => validateCidrForLegacyField(`${field}[${index}]`, range))
  const families = ranges.map(range => parseCidr(range)?.family)
  const isPair = ranges.length < 2 || (ranges.length === 2 && families[0] !== families[1])
  if (isPair) return errors
  return [...errors, invalid(field, ranges, 'may specify no more than one CIDR for each IP family')]
}

function validateAddresses({ addresses = [] }: NodeStatus): FieldError[] {
  const seen = new Set<string>()
  return addresses.flatMap((address, index) => {
    const shown = { Type: address.type ?? '', Address: address.address ?? '' }
    const identity = `${shown.Type} ${shown.Address}`
    const isRepeated = seen.has(identity)
    seen.add(identity)
    return isRepeated ? [duplicate(`status.addresses[${index}]`, shown)] : []
  })
}

/** Pod CIDRs and the provider ID can be set only once. */
function validateImmutableSpec({ spec = {} }: Node, { spec: old = {} }: Node): FieldError[] {
  const errors: FieldError[] = []
  const { podCIDRs = [] } = spec
  const { podCIDRs: was = [] } = old
  const isSame = was.length === podCIDRs.length && was.every((range, index) => range === podCIDRs[index])
  if (was.length > 0 && !isSame) {
    const detail = 'node updates may not change podCIDR except from "" to valid'
    errors.push(forbiddenField('spec.podCIDRs', detail))
  }
  if (old.providerID && old.providerID !== spec.providerID) {
    const detail = 'node updates may not change providerID except from "" to valid'
    errors.push(forbiddenField('spec.providerID', detail))
  }
  return errors
}
