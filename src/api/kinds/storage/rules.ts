import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { csiDriverRules } from './csi-driver.ts'
import { csiNodeRules } from './csi-node.ts'
import { csiStorageCapacityRules } from './csi-storage-capacity.ts'
import { storageClassRules } from './storage-class.ts'
import { volumeAttachmentRules } from './volume-attachment.ts'
import { volumeAttributesClassRules } from './volume-attributes-class.ts'

export const storage: GroupRules = groupRules({
  CSIDriver: csiDriverRules,
  CSINode: csiNodeRules,
  CSIStorageCapacity: csiStorageCapacityRules,
  StorageClass: storageClassRules,
  VolumeAttachment: volumeAttachmentRules,
  VolumeAttributesClass: volumeAttributesClassRules,
})
