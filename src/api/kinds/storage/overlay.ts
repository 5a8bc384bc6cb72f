/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, set, type Overlay } from '../overlay.ts'

export const storageOverlay: Overlay = {
  quantities: ['CSIStorageCapacity.capacity', 'CSIStorageCapacity.maximumVolumeSize'],
  merging: {
    'CSIDriverSpec.volumeLifecycleModes': set,
    'CSINodeSpec.drivers': merged('name'),
  },
  enums: {
    VolumeBindingMode: ['Immediate', 'WaitForFirstConsumer'],
  },
  enumFields: {
    'StorageClass.reclaimPolicy': 'core.PersistentVolumeReclaimPolicy',
    'StorageClass.volumeBindingMode': 'VolumeBindingMode',
  },
  spacedSentences: ['StorageClass.volumeBindingMode'],
  resources: {
    storageclasses: { shortNames: ['sc'] },
    volumeattributesclasses: { shortNames: ['vac'] },
  },
  fieldNumbers: `
CSIDriver: metadata spec
CSIDriverList: metadata items
CSIDriverSpec: attachRequired? podInfoOnMount? volumeLifecycleModes storageCapacity? fsGroupPolicy?
  tokenRequests requiresRepublish? seLinuxMount? nodeAllocatableUpdatePeriodSeconds?
  serviceAccountTokenInSecrets? preventPodSchedulingIfMissing?
CSINode: metadata spec
CSINodeDriver: name nodeID topologyKeys! allocatable?
CSINodeList: metadata items
CSINodeSpec: drivers
CSIStorageCapacity: metadata nodeTopology? storageClassName capacity? maximumVolumeSize?
CSIStorageCapacityList: metadata items
StorageClass: metadata provisioner parameters reclaimPolicy? mountOptions allowVolumeExpansion?
  volumeBindingMode? allowedTopologies
StorageClassList: metadata items
TokenRequest: audience expirationSeconds?
VolumeAttachment: metadata spec status
VolumeAttachmentList: metadata items
VolumeAttachmentSource: persistentVolumeName? inlineVolumeSpec?
VolumeAttachmentSpec: attacher source nodeName
VolumeAttachmentStatus: attached attachmentMetadata attachError? detachError?
VolumeAttributesClass: metadata driverName parameters
VolumeAttributesClassList: metadata items
VolumeError: time message errorCode?
VolumeNodeResources: count?
`,
}
