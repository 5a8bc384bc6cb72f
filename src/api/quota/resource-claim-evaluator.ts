/** Quota evaluator for resource claims: object count and devices per device class. */
import type {
  DeviceRequest,
  DeviceSubRequest,
  ExactDeviceRequest,
  ResourceClaim,
} from '../generated/resource/v1.ts'
import { quantityFromInteger } from '../text/quantity.ts'
import { addAmounts, maxAmounts, one, type Amounts } from './amounts.ts'
import { objectCountName, type QuotaEvaluator } from './evaluator.ts'

const count = objectCountName('resource.k8s.io', 'resourceclaims')
/** `gpu.deviceclass.resource.k8s.io/devices`. */
const ofClass = '.deviceclass.resource.k8s.io/devices'

export const resourceClaimEvaluator: QuotaEvaluator = {
  matchesResource: resource => resource === count || resource.endsWith(ofClass),
  usage: object => usage(object as ResourceClaim),
  matchesScope: () => false,
  handles: ({ subresource }) => subresource === '',
}

function usage({ spec }: ResourceClaim): Amounts {
  const requests = spec?.devices?.requests ?? []
  return requests.map(devicesOf).reduce(addAmounts, new Map([[count, one]]))
}

/** For alternatives, the maximum per device class counts. */
function devicesOf({ exactly, firstAvailable = [] }: DeviceRequest): Amounts {
  if (firstAvailable.length > 0) return maxAmounts(firstAvailable.map(ofOneClass))
  return exactly ? ofOneClass(exactly) : new Map()
}

/** Maximum number of devices that can be allocated to a claim. */
const allocatedDevicesMax = 32

function ofOneClass(request: ExactDeviceRequest | DeviceSubRequest): Amounts {
  const { allocationMode, count: asked = 1 } = request
  const devices = allocationMode === 'All' ? allocatedDevicesMax : allocationMode === 'ExactCount' ? asked : 0
  return new Map([[`${request.deviceClassName}${ofClass}`, quantityFromInteger(devices, 'DecimalSI')]])
}
