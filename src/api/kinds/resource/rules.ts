import type { GroupRules } from '../../kind-rules.ts'
import { deviceClassRules } from './device-class.ts'
import { resourceClaimRules, resourceClaimTemplateRules } from './resource-claim.ts'
import { resourceSliceRules } from './resource-slice.ts'

export const resource: GroupRules = {
  DeviceClass: deviceClassRules,
  DeviceTaintRule: { returnDeletedObject: true },
  ResourceClaim: resourceClaimRules,
  ResourceClaimTemplate: resourceClaimTemplateRules,
  ResourcePoolStatusRequest: { returnDeletedObject: true },
  ResourceSlice: resourceSliceRules,
}
