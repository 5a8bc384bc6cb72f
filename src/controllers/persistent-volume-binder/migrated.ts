/** Storage that was part of Kubernetes once, and the drivers that took over. */
import { annotationOf, withAnnotations, withoutAnnotation } from '#/api/annotations.ts'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import { inTreeDrivers } from '#/api/in-tree-storage.ts'
import { hasFinalizer, withFinalizer, withoutFinalizer } from '#/api/metadata.ts'
import { deletionFinalizer, migratedTo, provisionedBy } from './names.ts'

/** The name of the driver behind a provisioner, which mostly is its own. */
export function driverOf(provisioner: string): string {
  return inTreeDrivers.get(provisioner) ?? provisioner
}

/** What a provisioner's name begins with that only Kubernetes itself may have. */
const reservedPrefix = 'kubernetes.io/'

/** Whether there is nobody outside who could be meant. */
export function isUnknownInTree(provisioner: string): boolean {
  return provisioner.startsWith(reservedPrefix) && !inTreeDrivers.has(provisioner)
}

/**
 * The volume with what its provisioner makes necessary: the mark of a driver that took over, and for one that runs in
 * here the finalizer, as long as the storage is to be deleted with the volume.
 */
export function withProvisionerMarks(
  volume: PersistentVolume,
  isOwn: (provisioner: string) => boolean,
): PersistentVolume {
  const provisioner = annotationOf(volume, provisionedBy)
  if (provisioner === undefined) return volume
  const driver = inTreeDrivers.get(provisioner)
  if (driver !== undefined)
    return withAnnotations(withoutFinalizer(volume, deletionFinalizer), { [migratedTo]: driver })
  const marked = withoutAnnotation(volume, migratedTo)
  if (!isOwn(provisioner)) return marked
  if (volume.spec?.persistentVolumeReclaimPolicy !== 'Delete')
    return withoutFinalizer(marked, deletionFinalizer)
  // Nothing can be added to what is on its way out.
  if (volume.metadata?.deletionTimestamp !== undefined || hasFinalizer(marked, deletionFinalizer))
    return marked
  return withFinalizer(marked, deletionFinalizer)
}
