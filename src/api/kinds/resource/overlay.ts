import { keyed, merged, type Overlay } from '../overlay.ts'

export const resource: Overlay = {
  quantities: [
    'CapacityRequestPolicy.default',
    'CapacityRequestPolicy.validValues',
    'CapacityRequestPolicyRange.max',
    'CapacityRequestPolicyRange.min',
    'CapacityRequestPolicyRange.step',
    'CapacityRequirements.requests',
    'Counter.value',
    'DeviceCapacity.value',
    'DeviceRequestAllocationResult.consumedCapacity',
    'NodeAllocatableResourceMapping.allocationMultiplier',
  ],
  types: {
    'AllocatedDeviceStatus.data': 'runtime.RawExtension',
    'OpaqueDeviceConfiguration.parameters': 'runtime.RawExtension',
  },
  merging: {
    'AllocatedDeviceStatus.conditions': keyed('type'),
    'DeviceTaintRuleStatus.conditions': merged('type'),
    'ResourceClaimStatus.devices': keyed('driver', 'device', 'pool', 'shareID'),
    'ResourceClaimStatus.reservedFor': merged('uid'),
    'ResourcePoolStatusRequestStatus.conditions': merged('type'),
  },
}
