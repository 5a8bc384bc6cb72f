/** Validation of devices in a ResourceSlice. */
import {
  invalid,
  invalidEach,
  notSupported,
  required,
  tooLong,
  tooMany,
  type FieldError,
} from '../../field-error.ts'
import type {
  Counter,
  Device,
  DeviceAttribute,
  DeviceCounterConsumption,
  DeviceTaint,
} from '../../generated/resource/v1.ts'
import { validateLabelName as validateLabelKey } from '../../labels.ts'
import { checkLabelValue } from '../../names.ts'
import { isSemanticVersion } from '../../text/semantic-version.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateBindingConditions } from './binding-conditions.ts'
import { taintEffects } from './device-claim.ts'
import { validateCapacity } from './device-capacity.ts'
import { validateList, validateMap, validateSet } from './limits.ts'
import { validateLabelName, validateQualifiedName } from './names.ts'
import { validateOneSelection, validateSelection } from './node-selection.ts'

export function validateDevice(
  field: string,
  device: Unchecked<Device>,
  selectsNodes: boolean,
): FieldError[] {
  const { attributes = {}, capacity = {} } = device
  const propertyCount = Object.keys(attributes).length + Object.keys(capacity).length
  const isShared = device.allowMultipleAllocations === true
  return [
    ...validateLabelName(`${field}.name`, device.name),
    ...(propertyCount > propertiesMax
      ? [
          invalid(
            field,
            propertyCount,
            `the total number of attributes and capacities must not exceed ${propertiesMax}`,
          ),
        ]
      : []),
    ...validateMap(`${field}.attributes`, attributes, {
      validateKey: validateQualifiedName,
      validateValue: validateAttribute,
    }),
    ...validateMap(`${field}.capacity`, capacity, {
      validateKey: validateQualifiedName,
      validateValue: (place, each) => validateCapacity(place, each, isShared),
    }),
    ...validateList(`${field}.taints`, device.taints, { itemsMax: taintsMax, validateItem: validateTaint }),
    ...validateSet(`${field}.consumesCounters`, device.consumesCounters, {
      itemsMax: consumptionsMax,
      validateItem: validateConsumption,
      keyOf: each => each.counterSet ?? '',
    }),
    ...validateReach(field, device, selectsNodes),
    ...validateBindingConditions(field, device),
  ]
}

/** Counters by name; at least one is required. */
export function validateCounters(
  field: string,
  counters: Readonly<Record<string, Unchecked<Counter>>> = {},
): FieldError[] {
  const size = Object.keys(counters).length
  if (size === 0) return [required(field, '')]
  if (size > countersMax) return [tooMany(field, size, countersMax)]
  return validateMap(field, counters, { validateKey: validateLabelName, validateValue: () => [] })
}

const propertiesMax = 32
const taintsMax = 16
const consumptionsMax = 2
const countersMax = 32
const valueBytesMax = 64

/** An attribute must have exactly one value. */
function validateAttribute(field: string, attribute: Unchecked<DeviceAttribute>): FieldError[] {
  const { string: text, version } = attribute
  const errors: FieldError[] = []
  if (text !== undefined && Buffer.byteLength(text) > valueBytesMax) {
    errors.push(tooLong(`${field}.string`, valueBytesMax))
  }
  if (version !== undefined) errors.push(...validateVersion(`${field}.version`, version))
  const given = Object.values(attribute).filter(value => value !== undefined).length
  if (given === 1) return errors
  return [...errors, invalid(field, given === 0 ? '' : attribute, 'exactly one value must be specified')]
}

function validateVersion(field: string, version: string): FieldError[] {
  // Not matched against the pattern if too long, since it is rejected anyway.
  if (Buffer.byteLength(version) > valueBytesMax) return [tooLong(field, valueBytesMax)]
  if (isSemanticVersion(version)) return []
  return [invalid(field, version, 'must be a string compatible with semver.org spec 2.0.0')]
}

function validateTaint(field: string, taint: Unchecked<DeviceTaint>): FieldError[] {
  const { key = '', value = '', effect = '' } = taint
  const errors = validateLabelKey(`${field}.key`, key)
  if (value !== '') errors.push(...invalidEach(`${field}.value`, value, checkLabelValue(value)))
  if (effect === '') return [...errors, required(`${field}.effect`, '')]
  if (taintEffects.includes(effect)) return errors
  return [...errors, notSupported(`${field}.effect`, effect, taintEffects)]
}

function validateConsumption(field: string, consumption: Unchecked<DeviceCounterConsumption>): FieldError[] {
  const { counterSet = '', counters } = consumption
  return [
    ...(counterSet === ''
      ? [required(`${field}.counterSet`, '')]
      : validateLabelName(`${field}.counterSet`, counterSet)),
    ...validateCounters(`${field}.counters`, counters),
  ]
}

/** A device must select nodes if and only if the slice sets `perDeviceNodeSelection`. */
function validateReach(field: string, device: Unchecked<Device>, selectsNodes: boolean): FieldError[] {
  const { nodeName, nodeSelector, allNodes } = device
  const selection = { nodeName, nodeSelector, allNodes }
  if (selectsNodes) {
    const detail =
      'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when ' +
      '`perDeviceNodeSelection` is set to true in the ResourceSlice spec'
    return [
      ...validateSelection(field, selection, 'must not be empty'),
      ...validateOneSelection(field, selection, { none: detail, several: detail }),
    ]
  }
  if (nodeName === undefined && nodeSelector === undefined && allNodes === undefined) return []
  const detail =
    '`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set ' +
    'to true in the ResourceSlice spec'
  return [invalid(field, null, detail)]
}
