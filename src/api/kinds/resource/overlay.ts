/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { keyed, merged, type Overlay } from '../overlay.ts'

export const resourceOverlay: Overlay = {
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
  defaults: { 'DeviceToleration.operator': 'Equal', 'ResourcePoolStatusRequestSpec.limit': 100 },
  enums: {
    AllocationConfigSource: ['FromClaim', 'FromClass'],
    DeviceAllocationMode: ['All', 'ExactCount'],
    DeviceTaintEffect: ['NoExecute', 'NoSchedule', 'None'],
    DeviceTolerationOperator: ['Equal', 'Exists'],
  },
  enumFields: {
    'DeviceAllocationConfiguration.source': 'AllocationConfigSource',
    'DeviceRequest.allocationMode': 'DeviceAllocationMode',
    'DeviceSubRequest.allocationMode': 'DeviceAllocationMode',
    'DeviceTaint.effect': 'DeviceTaintEffect',
    'DeviceToleration.effect': 'DeviceTaintEffect',
    'DeviceToleration.operator': 'DeviceTolerationOperator',
    'ExactDeviceRequest.allocationMode': 'DeviceAllocationMode',
  },
  resources: { devicetaintrules: { hashedVersion: 'v1alpha3' } },
  fieldNumbers: `
AllocatedDeviceStatus: driver pool device conditions! data? networkData? shareID?
AllocationResult: devices 3:nodeSelector? 5:allocationTimestamp?
BasicDevice: attributes capacity consumesCounters nodeName? nodeSelector? allNodes? taints bindsToNode?
  bindingConditions bindingFailureConditions allowMultipleAllocations? nodeAllocatableResourceMappings
CELDeviceSelector: expression
CapacityRequestPolicy: default?! 3:validValues validRange?
CapacityRequestPolicyRange: min?- max? step?
CapacityRequirements: requests
Counter: value
CounterSet: name counters-
Device: name attributes capacity consumesCounters nodeName? nodeSelector? allNodes? taints bindsToNode?
  bindingConditions bindingFailureConditions allowMultipleAllocations? nodeAllocatableResourceMappings
v1beta1/Device: name basic?
DeviceAllocationConfiguration: source requests ...DeviceConfiguration
DeviceAllocationResult: results config
DeviceAttribute: 2:int? bool? string? version? ints bools strings versions
DeviceCapacity: value requestPolicy?
DeviceClaim: requests! constraints config
DeviceClaimConfiguration: requests ...DeviceConfiguration
DeviceClass: metadata spec
DeviceClassConfiguration: ...DeviceConfiguration
DeviceClassList: metadata items
DeviceClassSpec: selectors config 4:extendedResourceName?
DeviceConfiguration: opaque?
DeviceConstraint: requests matchAttribute? distinctAttribute?
DeviceCounterConsumption: counterSet counters-
DeviceRequest: name exactly? firstAvailable
v1beta1/DeviceRequest: name deviceClassName! selectors allocationMode count adminAccess? firstAvailable
  tolerations capacity?
DeviceRequestAllocationResult: request driver pool device adminAccess? tolerations bindingConditions
  bindingFailureConditions shareID? consumedCapacity
DeviceSelector: cel?
DeviceSubRequest: name deviceClassName selectors allocationMode count tolerations capacity?
v1beta1/DeviceSubRequest: name deviceClassName selectors allocationMode count 7:tolerations capacity?
DeviceTaint: key value effect timeAdded?
DeviceTaintRule: metadata spec status
DeviceTaintRuleList: metadata items
DeviceTaintRuleSpec: deviceSelector? taint
DeviceTaintRuleStatus: conditions
DeviceTaintSelector: 2:driver? pool? device?
DeviceToleration: key operator value effect tolerationSeconds?
ExactDeviceRequest: deviceClassName selectors allocationMode count adminAccess? tolerations capacity?
NetworkDeviceData: interfaceName ips hardwareAddress
NodeAllocatableResourceMapping: capacityKey? allocationMultiplier?
OpaqueDeviceConfiguration: driver parameters
PoolStatus: driver- poolName- nodeName? totalDevices? allocatedDevices? availableDevices? unavailableDevices?
  resourceSliceCount? generation validationError?
ResourceClaim: metadata spec status
ResourceClaimConsumerReference: apiGroup 3:resource name uid
ResourceClaimList: metadata items
ResourceClaimSpec: devices!
ResourceClaimStatus: allocation? reservedFor 4:devices
ResourceClaimTemplate: metadata spec
ResourceClaimTemplateList: metadata items
ResourceClaimTemplateSpec: metadata spec
ResourcePool: name generation resourceSliceCount
ResourcePoolStatusRequest: metadata spec status?
ResourcePoolStatusRequestList: metadata items
ResourcePoolStatusRequestSpec: driver poolName? limit?
ResourcePoolStatusRequestStatus: 2:pools conditions 6:poolCount?-
ResourceSlice: metadata spec
ResourceSliceList: metadata items
ResourceSliceSpec: driver pool nodeName? nodeSelector? allNodes? devices perDeviceNodeSelection?
  sharedCounters
v1beta1/ResourceSliceSpec: driver pool nodeName nodeSelector? allNodes devices perDeviceNodeSelection?
  sharedCounters
`,
}
