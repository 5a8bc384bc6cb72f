/** Validation of the status of a ResourceClaim: allocation, consumers and device status. */
import { enumValues } from '../../definitions.ts'
import { forbiddenField, invalid, tooLong, tooMany, type FieldError } from '../../field-error.ts'
import { validateInterfaceAddress } from '../../net/cidr.ts'
import type {
  AllocatedDeviceStatus,
  AllocationResult,
  DeviceAllocationConfiguration,
  DeviceRequestAllocationResult,
  NetworkDeviceData,
  ResourceClaim,
  ResourceClaimConsumerReference,
} from '../../generated/resource/v1.ts'
import { isBeingDeleted } from '../../metadata.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateConditions } from '../validation/conditions.ts'
import { validateChoice, validateCsiDriverName, validatePresent } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateBindingConditions } from './binding-conditions.ts'
import { configurationsMax, validateConfiguration, validateFreeForm } from './configuration.ts'
import { requestsMax, validateRequestReferences } from './device-claim.ts'
import { validateList, validateSet } from './limits.ts'
import { validateLabelName, validatePoolName, validateUuid } from './names.ts'
import { validateNodes } from './node-selection.ts'
import { requestNamesOf, validateRequestReference, type RequestNames } from './request-names.ts'

export function validateClaimStatus(claim: ResourceClaim, old: ResourceClaim): FieldError[] {
  const { status = {}, spec } = claim as Unchecked<ResourceClaim>
  const { allocation, reservedFor = [], devices } = status
  const oldStatus = old.status ?? {}
  const allocated = new Set((allocation?.devices?.results ?? []).map(deviceOf))
  const errors = [
    ...validateSet('status.reservedFor', reservedFor, {
      itemsMax: consumersMax,
      validateItem: validateConsumer,
      keyOf: ({ uid = '' }) => uid,
    }),
    ...validateSet('status.devices', devices, {
      itemsMax: Infinity,
      validateItem: (field, device) => validateDeviceStatus(field, device, allocated),
      keyOf: deviceOf,
    }),
  ]
  if (reservedFor.length > 0 && !allocation) {
    errors.push(forbiddenField('status.reservedFor', 'may not be specified when `allocated` is not set'))
  } else if (isBeingDeleted(claim) && hasNewConsumer(reservedFor, oldStatus.reservedFor ?? [])) {
    const detail = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set'
    errors.push(forbiddenField('status.reservedFor', detail))
  }
  if (!allocation) return errors
  if (oldStatus.allocation) {
    return [...errors, ...validateImmutable(allocation, oldStatus.allocation, 'status.allocation')]
  }
  const names = requestNamesOf(spec?.devices ?? {})
  return [...errors, ...validateAllocation('status.allocation', allocation, names)]
}

/** Drops the status of devices that are no longer allocated. */
export function withoutReleasedDevices(claim: ResourceClaim, old: ResourceClaim): ResourceClaim {
  const { status = {} } = claim
  const held = new Set((status.allocation?.devices?.results ?? []).map(deviceOf))
  const released = new Set(
    (old.status?.allocation?.devices?.results ?? []).map(deviceOf).filter(device => !held.has(device)),
  )
  const { devices = [], ...rest } = status
  const kept = devices.filter(device => !released.has(deviceOf(device)))
  if (kept.length === devices.length) return claim
  return { ...claim, status: { ...rest, ...(kept.length > 0 && { devices: kept }) } }
}

const consumersMax = 256
const conditionsMax = 8
const dataBytesMax = 10 * 1_024

interface DeviceReference {
  readonly driver?: string
  readonly pool?: string
  readonly device?: string
  readonly shareID?: string
}

function deviceOf({ driver = '', pool = '', device = '', shareID }: DeviceReference): string {
  const name = `${driver}/${pool}/${device}`
  return shareID === undefined ? name : `${name}/${shareID}`
}

function validateConsumer(field: string, consumer: Unchecked<ResourceClaimConsumerReference>): FieldError[] {
  return [
    ...validatePresent(`${field}.resource`, consumer.resource),
    ...validatePresent(`${field}.name`, consumer.name),
    ...validatePresent(`${field}.uid`, consumer.uid),
  ]
}

function hasNewConsumer(
  consumers: readonly Unchecked<ResourceClaimConsumerReference>[],
  old: readonly ResourceClaimConsumerReference[],
): boolean {
  const known = new Set(old.map(({ uid }) => uid))
  return consumers.some(({ uid = '' }) => !known.has(uid))
}

function validateAllocation(
  field: string,
  allocation: Unchecked<AllocationResult>,
  names: RequestNames,
): FieldError[] {
  const { devices = {}, nodeSelector } = allocation
  return [
    ...validateList(`${field}.devices.results`, devices.results, {
      itemsMax: requestsMax,
      validateItem: (place, result) => validateResult(place, result, names),
    }),
    ...validateList(`${field}.devices.config`, devices.config, {
      // The same number from the claim and from its classes.
      itemsMax: 2 * configurationsMax,
      validateItem: (place, configuration) => validateAllocatedConfiguration(place, configuration, names),
    }),
    ...(nodeSelector ? validateNodes(`${field}.nodeSelector`, nodeSelector) : []),
  ]
}

function validateResult(
  field: string,
  result: Unchecked<DeviceRequestAllocationResult>,
  names: RequestNames,
): FieldError[] {
  return [
    ...validateRequestReference(`${field}.request`, result.request ?? '', names),
    ...validateCsiDriverName(`${field}.driver`, result.driver),
    ...validatePoolName(`${field}.pool`, result.pool),
    ...validateLabelName(`${field}.device`, result.device),
    ...validateBindingConditions(field, result),
    ...validateUuid(`${field}.shareID`, result.shareID),
  ]
}

function validateAllocatedConfiguration(
  field: string,
  configuration: Unchecked<DeviceAllocationConfiguration>,
  names: RequestNames,
): FieldError[] {
  return [
    ...validateChoice(`${field}.source`, configuration.source, enumValues('resource.AllocationConfigSource')),
    ...validateRequestReferences(`${field}.requests`, configuration.requests, names),
    ...validateConfiguration(field, configuration),
  ]
}

function validateDeviceStatus(
  field: string,
  device: Unchecked<AllocatedDeviceStatus>,
  allocated: ReadonlySet<string>,
): FieldError[] {
  const { conditions = [], data, networkData } = device
  const isAllocated = allocated.has(deviceOf(device))
  return [
    ...validateCsiDriverName(`${field}.driver`, device.driver),
    ...validatePoolName(`${field}.pool`, device.pool),
    ...validateLabelName(`${field}.device`, device.device),
    ...validateUuid(`${field}.shareID`, device.shareID),
    ...(isAllocated ? [] : [invalid(field, deviceOf(device), 'must be an allocated device in the claim')]),
    ...(conditions.length > conditionsMax
      ? [tooMany(`${field}.conditions`, conditions.length, conditionsMax)]
      : []),
    ...validateConditions(`${field}.conditions`, conditions),
    ...(data === undefined ? [] : validateFreeForm(`${field}.data`, data, dataBytesMax)),
    ...(networkData ? validateNetworkData(`${field}.networkData`, networkData) : []),
  ]
}

const interfaceNameBytesMax = 256
const hardwareAddressBytesMax = 128
const addressesMax = 16

function validateNetworkData(field: string, data: Unchecked<NetworkDeviceData>): FieldError[] {
  const { interfaceName = '', hardwareAddress = '' } = data
  const errors: FieldError[] = []
  if (Buffer.byteLength(interfaceName) > interfaceNameBytesMax) {
    errors.push(tooLong(`${field}.interfaceName`, interfaceNameBytesMax))
  }
  if (Buffer.byteLength(hardwareAddress) > hardwareAddressBytesMax) {
    errors.push(tooLong(`${field}.hardwareAddress`, hardwareAddressBytesMax))
  }
  return [
    ...errors,
    ...validateSet(`${field}.ips`, data.ips, {
      itemsMax: addressesMax,
      validateItem: validateInterfaceAddress,
      keyOf: ip => ip,
    }),
  ]
}
