/** Table columns of PersistentVolume and PersistentVolumeClaim. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../../columns.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { textColumn, wideColumn } from '../../make-column.ts'
import type { Unchecked } from '../../validation/unchecked.ts'

const capacityColumn = textColumn('Capacity', 'Capacity of the volume.')
const accessModesColumn = textColumn('Access Modes', 'Access modes of the volume.')
const classColumn = textColumn('StorageClass', 'Name of the StorageClass.')
const attributesClassColumn = textColumn('VolumeAttributesClass', 'Name of the VolumeAttributesClass.')
const volumeModeColumn = wideColumn('VolumeMode', 'Filesystem or Block.')

export const persistentVolumeColumns: KindColumns<PersistentVolume> = {
  columns: [
    nameColumn,
    capacityColumn,
    accessModesColumn,
    textColumn('Reclaim Policy', 'What happens to the volume when released from its claim.'),
    textColumn('Status', 'Phase of the volume.'),
    textColumn('Claim', 'Namespace and name of the bound claim.'),
    classColumn,
    attributesClassColumn,
    textColumn('Reason', 'Reason for the phase.'),
    ageColumn,
    volumeModeColumn,
  ],
  cells: (volume: Unchecked<PersistentVolume>) => {
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
      ageOf(volume),
      spec.volumeMode ?? '<unset>',
    ]
  },
}

export const persistentVolumeClaimColumns: KindColumns<PersistentVolumeClaim> = {
  columns: [
    nameColumn,
    textColumn('Status', 'Phase of the claim.'),
    textColumn('Volume', 'Name of the bound volume.'),
    capacityColumn,
    accessModesColumn,
    classColumn,
    attributesClassColumn,
    ageColumn,
    volumeModeColumn,
  ],
  cells: (claim: Unchecked<PersistentVolumeClaim>) => {
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
      ageOf(claim),
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
