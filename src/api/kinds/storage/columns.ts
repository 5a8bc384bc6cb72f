/** Table columns for `storage.k8s.io`. */
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
import type { Unchecked } from '../unchecked.ts'

const storageClassColumns: KindColumns<StorageClass> = {
  columns: [
    nameColumn,
    textColumn('Provisioner', 'Who makes volumes of the class.'),
    textColumn('ReclaimPolicy', 'What becomes of a volume when its claim is gone.'),
    textColumn('VolumeBindingMode', 'Whether a volume is made at once or for the first pod that needs it.'),
    textColumn('AllowVolumeExpansion', 'Whether volumes may grow.'),
    ageColumn,
  ],
  cells: (object: Unchecked<StorageClass>, nowMs) => [
    isDefault(object) ? `${nameOf(object)} (default)` : nameOf(object),
    object.provisioner ?? '',
    object.reclaimPolicy ?? 'Delete',
    object.volumeBindingMode ?? 'Immediate',
    object.allowVolumeExpansion ?? false,
    ageOf(object, nowMs),
  ],
}

const volumeAttributesClassColumns: KindColumns<VolumeAttributesClass> = {
  columns: [nameColumn, textColumn('DriverName', 'The driver that knows the attributes.'), ageColumn],
  cells: (object: Unchecked<VolumeAttributesClass>, nowMs) => [
    nameOf(object),
    object.driverName ?? '',
    ageOf(object, nowMs),
  ],
}

const volumeAttachmentColumns: KindColumns<VolumeAttachment> = {
  columns: [
    nameColumn,
    { ...textColumn('Attacher', 'The driver that attaches the volume.'), format: 'name' },
    textColumn('PV', 'The volume.'),
    textColumn('Node', 'The node to attach it to.'),
    booleanColumn('Attached', 'Whether it is attached.'),
    ageColumn,
  ],
  cells: (object: Unchecked<VolumeAttachment>, nowMs) => {
    const { attacher = '', source, nodeName = '' } = object.spec ?? {}
    return [
      nameOf(object),
      attacher,
      source?.persistentVolumeName ?? '',
      nodeName,
      object.status?.attached ?? false,
      ageOf(object, nowMs),
    ]
  },
}

const csiDriverColumns: KindColumns<CSIDriver> = {
  columns: [
    nameColumn,
    booleanColumn('AttachRequired', 'Whether volumes must be attached before they are mounted.'),
    booleanColumn('PodInfoOnMount', 'Whether the driver is told of the pod.'),
    booleanColumn('StorageCapacity', 'Whether the scheduler looks at the capacity that is left.'),
    textColumn('TokenRequests', 'Audiences of the tokens that the driver gets.'),
    booleanColumn('RequiresRepublish', 'Whether mounted volumes are published again and again.'),
    textColumn('Modes', 'Kinds of volumes that the driver knows.'),
    ageColumn,
  ],
  cells: (driver: Unchecked<CSIDriver>, nowMs) => {
    const { spec = {} } = driver
    return [
      nameOf(driver),
      spec.attachRequired ?? true,
      spec.podInfoOnMount ?? false,
      spec.storageCapacity ?? false,
      spec.tokenRequests?.map(request => request.audience ?? '').join(',') ?? '<unset>',
      spec.requiresRepublish ?? false,
      (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
      ageOf(driver, nowMs),
    ]
  },
}

const csiNodeColumns: KindColumns<CSINode> = {
  columns: [nameColumn, integerColumn('Drivers', 'How many drivers the node has.'), ageColumn],
  cells: (node: Unchecked<CSINode>, nowMs) => [
    nameOf(node),
    node.spec?.drivers?.length ?? 0,
    ageOf(node, nowMs),
  ],
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
