/** Storage class of claims and volumes, and the default storage class. */
import type { PersistentVolume, PersistentVolumeClaim } from '../generated/core/v1.ts'
import type { StorageClass } from '../generated/storage/v1.ts'
import { annotationOf, type Stored } from '../metadata.ts'

/** Legacy annotation. An empty name explicitly means no class. */
const classAnnotation = 'volume.beta.kubernetes.io/storage-class'

const defaultMarkers = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

/** Empty if there is none. */
export function storageClassOf(object: PersistentVolume | PersistentVolumeClaim): string {
  return annotationOf(object, classAnnotation) ?? object.spec?.storageClassName ?? ''
}

/** True if the claim sets a class, even if empty. */
export function hasStorageClass(claim: PersistentVolumeClaim): boolean {
  return annotationOf(claim, classAnnotation) !== undefined || claim.spec?.storageClassName !== undefined
}

export function isDefaultClass(storageClass: StorageClass): boolean {
  return defaultMarkers.some(marker => annotationOf(storageClass, marker) === 'true')
}

/** The newest if there are several. */
export function defaultClassOf(classes: readonly Stored<StorageClass>[]): Stored<StorageClass> | undefined {
  const [first] = classes.filter(isDefaultClass).sort(({ metadata: left }, { metadata: right }) => {
    const [older, newer] = [left.creationTimestamp, right.creationTimestamp]
    if (older !== newer) return older < newer ? 1 : -1
    return left.name < right.name ? -1 : 1
  })
  return first
}
