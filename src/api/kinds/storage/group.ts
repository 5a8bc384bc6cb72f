/** Rules and table columns of `storage.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type {
  CSIDriver,
  CSINode,
  StorageClass,
  VolumeAttachment,
  VolumeAttributesClass,
} from '../../generated/storage/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'
import { booleanColumn, integerColumn, textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { csiDriverRules } from './csi-driver.ts'
import { csiNodeRules } from './csi-node.ts'
import { csiStorageCapacityRules } from './csi-storage-capacity.ts'
import { storageClassRules, volumeAttributesClassRules } from './storage-class.ts'
import { volumeAttachmentRules } from './volume-attachment.ts'

export const storageRules: GroupRules = {
  CSIDriver: csiDriverRules,
  CSINode: csiNodeRules,
  CSIStorageCapacity: csiStorageCapacityRules,
  StorageClass: storageClassRules,
  VolumeAttachment: volumeAttachmentRules,
  VolumeAttributesClass: volumeAttributesClassRules,
}

const storageClassColumns: KindColumns<StorageClass> = {
  columns: [
    nameColumn,
    textColumn('Provisioner', 'Provisioner of the class.'),
    textColumn('ReclaimPolicy', 'What happens to the volume when released from its claim.'),
    textColumn('VolumeBindingMode', 'Immediate or WaitForFirstConsumer.'),
    textColumn('AllowVolumeExpansion', 'True if volumes can be expanded.'),
    ageColumn,
  ],
  cells: (object: Unchecked<StorageClass>) => [
    isDefault(object) ? `${nameOf(object)} (default)` : nameOf(object),
    object.provisioner ?? '',
    object.reclaimPolicy ?? 'Delete',
    object.volumeBindingMode ?? 'Immediate',
    object.allowVolumeExpansion ?? false,
    ageOf(object),
  ],
}

const volumeAttributesClassColumns: KindColumns<VolumeAttributesClass> = {
  columns: [nameColumn, textColumn('DriverName', 'CSI driver of the class.'), ageColumn],
  cells: (object: Unchecked<VolumeAttributesClass>) => [
    nameOf(object),
    object.driverName ?? '',
    ageOf(object),
  ],
}

const volumeAttachmentColumns: KindColumns<VolumeAttachment> = {
  columns: [
    nameColumn,
    { ...textColumn('Attacher', 'CSI driver that attaches the volume.'), format: 'name' },
    textColumn('PV', 'PersistentVolume to attach.'),
    textColumn('Node', 'Node to attach to.'),
    booleanColumn('Attached', 'True if attached.'),
    ageColumn,
  ],
  cells: (object: Unchecked<VolumeAttachment>) => {
    const { attacher = '', source, nodeName = '' } = object.spec ?? {}
    return [
      nameOf(object),
      attacher,
      source?.persistentVolumeName ?? '',
      nodeName,
      object.status?.attached ?? false,
      ageOf(object),
    ]
  },
}

const csiDriverColumns: KindColumns<CSIDriver> = {
  columns: [
    nameColumn,
    booleanColumn('AttachRequired', 'True if volumes need an attach operation.'),
    booleanColumn('PodInfoOnMount', 'True if pod information is passed on mount.'),
    booleanColumn('StorageCapacity', 'True if storage capacity is considered in scheduling.'),
    textColumn('TokenRequests', 'Audiences of requested tokens.'),
    booleanColumn('RequiresRepublish', 'True if NodePublishVolume is called periodically.'),
    textColumn('Modes', 'Supported volume lifecycle modes.'),
    ageColumn,
  ],
  cells: (driver: Unchecked<CSIDriver>) => {
    const { spec = {} } = driver
    return [
      nameOf(driver),
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      spec.tokenRequests?.map(request => request.audience ?? '').join(',') ?? '<unset>',
      spec.requiresRepublish ?? false,
      (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
      ageOf(driver),
    ]
  },
}

const csiNodeColumns: KindColumns<CSINode> = {
  columns: [nameColumn, integerColumn('Drivers', 'Number of CSI drivers on the node.'), ageColumn],
  cells: (node: Unchecked<CSINode>) => [nameOf(node), node.spec?.drivers?.length ?? 0, ageOf(node)],
}

/** The second is the beta annotation. */
const defaultAnnotations: readonly string[] = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

function isDefault({ metadata }: Unchecked<StorageClass>): boolean {
  return defaultAnnotations.some(key => metadata?.annotations?.[key] === 'true')
}

export const storageColumns: GroupColumns = {
  CSIDriver: csiDriverColumns,
  CSINode: csiNodeColumns,
  CSIStorageCapacity: createdColumns,
  StorageClass: storageClassColumns,
  VolumeAttachment: volumeAttachmentColumns,
  VolumeAttributesClass: volumeAttributesClassColumns,
}
