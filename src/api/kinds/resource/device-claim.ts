/** Validation of device requests: devices of a class, or the first available of several alternatives. */
import { enumValues } from '../../definitions.ts'
import { invalid, invalidEach, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  DeviceClaim,
  DeviceClaimConfiguration,
  DeviceConstraint,
  DeviceRequest,
  DeviceSubRequest,
  DeviceToleration,
  ExactDeviceRequest,
} from '../../generated/resource/v1.ts'
import { validateLabelName as validateLabelKey } from '../../labels.ts'
import { checkLabelValue } from '../../names.ts'
import { mapCopyOnWrite, withDefaults, withField } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { configurationsMax, validateConfiguration, validateSelectors } from './configuration.ts'
import { validateList, validateSet } from './limits.ts'
import { validateClassName, validateFullyQualifiedName, validateLabelName } from './names.ts'
import { requestNamesOf, validateRequestReference, type RequestNames } from './request-names.ts'

/** Maximum number of requests in a claim. */
export const requestsMax = 32

export const taintEffects = enumValues('resource.DeviceTaintEffect')

export function withClaimDefaults(claim: DeviceClaim): DeviceClaim {
  return withField(claim, 'requests', requests =>
    mapCopyOnWrite(requests, request => {
      const exact = withField(request, 'exactly', withRequestDefaults)
      return withField(exact, 'firstAvailable', list => mapCopyOnWrite(list, withRequestDefaults))
    }),
  )
}

export function validateDeviceClaim(field: string, claim: Unchecked<DeviceClaim>): FieldError[] {
  const names = requestNamesOf(claim)
  return [
    ...validateSet(`${field}.requests`, claim.requests, {
      itemsMax: requestsMax,
      validateItem: validateRequest,
      keyOf: ({ name = '' }) => name,
    }),
    ...validateList(`${field}.constraints`, claim.constraints, {
      itemsMax: constraintsMax,
      validateItem: (place, constraint) => validateConstraint(place, constraint, names),
    }),
    ...validateList(`${field}.config`, claim.config, {
      itemsMax: configurationsMax,
      validateItem: (place, configuration) => validateClaimConfiguration(place, configuration, names),
    }),
  ]
}

/** Validates references to requests by name. */
export function validateRequestReferences(
  field: string,
  references: readonly string[] | undefined,
  names: RequestNames,
): FieldError[] {
  return validateSet(field, references, {
    itemsMax: requestsMax,
    validateItem: (place, name) => validateRequestReference(place, name, names),
    keyOf: name => name,
  })
}

const constraintsMax = 32
const alternativesMax = 8
const tolerationsMax = 16
const operators = enumValues('resource.DeviceTolerationOperator')

/** Sets the operators of tolerations. */
export function withTolerationDefaults<T extends { readonly tolerations?: readonly DeviceToleration[] }>(
  object: T,
): T {
  return withField(object, 'tolerations', tolerations =>
    mapCopyOnWrite(tolerations, toleration => withDefaults(toleration, { operator: 'Equal' })),
  )
}

function withRequestDefaults<T extends ExactDeviceRequest>(request: T): T {
  const tolerant = withTolerationDefaults(request)
  const moded = withDefaults<ExactDeviceRequest>(tolerant, { allocationMode: 'ExactCount' })
  return (moded.allocationMode === 'ExactCount' ? withDefaults(moded, { count: 1 }) : moded) as T
}

function validateRequest(field: string, request: Unchecked<DeviceRequest>): FieldError[] {
  const { name, exactly, firstAvailable = [] } = request
  const errors = validateLabelName(`${field}.name`, name)
  const rule = 'exactly one of `exactly` or `firstAvailable` is required'
  if (exactly && firstAvailable.length > 0) {
    return [...errors, invalid(field, null, `${rule}, but multiple fields are set`)]
  }
  if (exactly) return [...errors, ...validateExact(`${field}.exactly`, exactly)]
  if (firstAvailable.length === 0) return [...errors, required(field, rule)]
  return [
    ...errors,
    ...validateSet(`${field}.firstAvailable`, firstAvailable, {
      itemsMax: alternativesMax,
      validateItem: validateAlternative,
      keyOf: each => each.name ?? '',
    }),
  ]
}

function validateAlternative(field: string, request: Unchecked<DeviceSubRequest>): FieldError[] {
  return [...validateLabelName(`${field}.name`, request.name), ...validateExact(field, request)]
}

function validateExact(field: string, request: Unchecked<ExactDeviceRequest>): FieldError[] {
  return [
    ...validateClassName(`${field}.deviceClassName`, request.deviceClassName),
    ...validateSelectors(`${field}.selectors`, request.selectors),
    ...validateAmount(field, request),
    ...validateList(`${field}.tolerations`, request.tolerations, {
      itemsMax: tolerationsMax,
      validateItem: validateToleration,
    }),
  ]
}

/** A number of devices, or all. */
function validateAmount(
  field: string,
  { allocationMode = '', count = 0 }: Unchecked<ExactDeviceRequest>,
): FieldError[] {
  switch (allocationMode) {
    case 'All':
      if (count === 0) return []
      return [invalid(`${field}.count`, count, "must not be specified when allocationMode is 'All'")]
    case 'ExactCount':
      return count > 0 ? [] : [invalid(`${field}.count`, count, 'must be greater than zero')]
    default:
      return [
        notSupported(`${field}.allocationMode`, allocationMode, enumValues('resource.DeviceAllocationMode')),
      ]
  }
}

function validateToleration(field: string, toleration: Unchecked<DeviceToleration>): FieldError[] {
  const { key = '', operator = '', value = '', effect = '' } = toleration
  const errors = key === '' ? [] : validateLabelKey(`${field}.key`, key)
  if (operator === '') errors.push(required(`${field}.operator`, ''))
  else if (operator === 'Equal') errors.push(...invalidEach(`${field}.value`, value, checkLabelValue(value)))
  else if (operator !== 'Exists') errors.push(notSupported(`${field}.operator`, operator, operators))
  else if (value !== '') errors.push(invalid(`${field}.value`, value, 'must be empty for operator `Exists`'))
  if (effect === '' || taintEffects.includes(effect)) return errors
  return [...errors, notSupported(`${field}.effect`, effect, taintEffects)]
}

/** Devices that have an attribute in common, or that differ in it. */
function validateConstraint(
  field: string,
  constraint: Unchecked<DeviceConstraint>,
  names: RequestNames,
): FieldError[] {
  const { requests, matchAttribute, distinctAttribute } = constraint
  const errors = validateRequestReferences(`${field}.requests`, requests, names)
  if (matchAttribute !== undefined) {
    return [...errors, ...validateFullyQualifiedName(`${field}.matchAttribute`, matchAttribute)]
  }
  if (distinctAttribute !== undefined) {
    return [...errors, ...validateFullyQualifiedName(`${field}.distinctAttribute`, distinctAttribute)]
  }
  const detail =
    'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple ' + 'fields are set'
  return [...errors, required(field, detail)]
}

function validateClaimConfiguration(
  field: string,
  configuration: Unchecked<DeviceClaimConfiguration>,
  names: RequestNames,
): FieldError[] {
  return [
    ...validateRequestReferences(`${field}.requests`, configuration.requests, names),
    ...validateConfiguration(field, configuration),
  ]
}
