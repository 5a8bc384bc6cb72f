/** Table columns of PersistentVolume and PersistentVolumeClaim. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../../columns.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { textColumn, wideColumn } from '../../make-column.ts'
import type { Unchecked } from '../../unchecked.ts'

const capacityColumn = textColumn('Capacity', 'How much the volume holds.')
const accessModesColumn = textColumn('Access Modes', 'How nodes and pods may mount the volume.')
const classColumn = textColumn('StorageClass', 'The class of storage.')
const attributesClassColumn = textColumn('VolumeAttributesClass', 'The class of attributes that may change.')
const volumeModeColumn = wideColumn('VolumeMode', 'A file system or a block device.')

export const persistentVolumeColumns: KindColumns<PersistentVolume> = {
  columns: [
    nameColumn,
    capacityColumn,
    accessModesColumn,
    textColumn('Reclaim Policy', 'What becomes of the volume when its claim is gone.'),
    textColumn('Status', 'Whether the volume is bound to a claim.'),
    textColumn('Claim', 'The claim, with its namespace.'),
    classColumn,
    attributesClassColumn,
    textColumn('Reason', 'Why the volume is in its state.'),
    ageColumn,
    volumeModeColumn,
  ],
  cells: (volume: Unchecked<PersistentVolume>, nowMs) => {
    const { spec = {}, status } = volume
    return [
      nameOf(volume),
      spec.capacity?.['storage'] ?? '0',
      accessModesText(spec.accessModes),
      spec.persistentVolumeReclaimPolicy ?? '',
      phaseText(volume),
      spec.claimRef === undefined ? '' : `${spec.claimRef.namespace ?? ''}/${spec.claimRef.name ?? ''}`,
      classText(volume),
      spec.volumeAttributesClassName ?? '<unset>',
      status?.reason ?? '',
      ageOf(volume, nowMs),
      spec.volumeMode ?? '<unset>',
    ]
  },
}

export const persistentVolumeClaimColumns: KindColumns<PersistentVolumeClaim> = {
  columns: [
    nameColumn,
    textColumn('Status', 'Whether the claim has a volume.'),
    textColumn('Volume', 'The volume.'),
    capacityColumn,
    accessModesColumn,
    classColumn,
    attributesClassColumn,
    ageColumn,
    volumeModeColumn,
  ],
  cells: (claim: Unchecked<PersistentVolumeClaim>, nowMs) => {
    const { spec = {}, status } = claim
    const isBound = Boolean(spec.volumeName)
    return [
      nameOf(claim),
      phaseText(claim),
      spec.volumeName ?? '',
      isBound ? (status?.capacity?.['storage'] ?? '0') : '',
      isBound ? accessModesText(status?.accessModes) : '',
      classText(claim),
      spec.volumeAttributesClassName ?? '<unset>',
      ageOf(claim, nowMs),
      spec.volumeMode ?? '<unset>',
    ]
  },
}

type Storage = Unchecked<PersistentVolume | PersistentVolumeClaim>

function phaseText({ metadata, status }: Storage): string {
  return metadata?.deletionTimestamp === undefined ? (status?.phase ?? '') : 'Terminating'
}

/** The legacy storage class annotation takes precedence over the field. */
function classText({ metadata, spec }: Storage): string {
  return metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? ''
}

const shortModes: readonly (readonly [mode: string, short: string])[] = [
  ['ReadWriteOnce', 'RWO'],
  ['ReadOnlyMany', 'ROX'],
  ['ReadWriteMany', 'RWX'],
  ['ReadWriteOncePod', 'RWOP'],
]

function accessModesText(modes: readonly string[] = []): string {
  return shortModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(',')
}
