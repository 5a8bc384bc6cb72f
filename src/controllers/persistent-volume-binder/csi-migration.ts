/** CSI migration: former in-tree volume plugins and the CSI drivers that replace them. */
import {
  annotationOf,
  withAnnotations,
  withoutAnnotation,
  hasFinalizer,
  withFinalizer,
  withoutFinalizer,
  type Stored,
} from '#/api/metadata.ts'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import { csiDriverByInTreePlugin } from '#/api/core/in-tree-storage.ts'
import { deletionFinalizer, migratedTo, provisionedBy } from './names.ts'

/** The CSI driver that replaces an in-tree provisioner, or else the provisioner itself. */
export function migratedDriverOf(provisioner: string): string {
  return csiDriverByInTreePlugin.get(provisioner) ?? provisioner
}

/** Prefix reserved for in-tree provisioners. */
const reservedPrefix = 'kubernetes.io/'

/** True for an in-tree provisioner without a replacement, which cannot be external. */
export function isUnsupportedInTree(provisioner: string): boolean {
  return provisioner.startsWith(reservedPrefix) && !csiDriverByInTreePlugin.has(provisioner)
}

/**
 * Adds the annotation of the migrated driver, and the deletion finalizer if an in-process provisioner must
 * delete the storage.
 */
export function withMigrationAnnotations(
  volume: Stored<PersistentVolume>,
  isOwn: (provisioner: string) => boolean,
): Stored<PersistentVolume> {
  const provisioner = annotationOf(volume, provisionedBy)
  if (provisioner === undefined) return volume
  const driver = csiDriverByInTreePlugin.get(provisioner)
  if (driver !== undefined)
    return withAnnotations(withoutFinalizer(volume, deletionFinalizer), { [migratedTo]: driver })
  const marked = withoutAnnotation(volume, migratedTo)
  if (!isOwn(provisioner)) return marked
  if (volume.spec?.persistentVolumeReclaimPolicy !== 'Delete')
    return withoutFinalizer(marked, deletionFinalizer)
  // No finalizer can be added to an object that is being deleted.
  if (volume.metadata.deletionTimestamp !== undefined || hasFinalizer(marked, deletionFinalizer))
    return marked
  return withFinalizer(marked, deletionFinalizer)
}
