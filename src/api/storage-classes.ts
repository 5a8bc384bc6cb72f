/** Which storage class claims and volumes have, and which is the default one. */
import type { PersistentVolume, PersistentVolumeClaim } from './generated/core/v1.ts'
import type { StorageClass } from './generated/storage/v1.ts'
import { annotationOf } from './annotations.ts'

/** Old objects name their class in an annotation. An empty name means none, and is an answer. */
const classAnnotation = 'volume.beta.kubernetes.io/storage-class'

const defaultMarkers = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
]

/** Empty when it has none. */
export function storageClassOf(object: PersistentVolume | PersistentVolumeClaim): string {
  return annotationOf(object, classAnnotation) ?? object.spec?.storageClassName ?? ''
}

/** Whether it says which class it wants, be it none. */
export function hasStorageClass(claim: PersistentVolumeClaim): boolean {
  return annotationOf(claim, classAnnotation) !== undefined || claim.spec?.storageClassName !== undefined
}

export function isDefaultClass(storageClass: StorageClass): boolean {
  return defaultMarkers.some(marker => annotationOf(storageClass, marker) === 'true')
}

/** Of several, the newest. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  const [first] = classes.filter(isDefaultClass).sort((left, right) => {
    const [older, newer] = [createdAt(left), createdAt(right)]
    if (older !== newer) return older < newer ? 1 : -1
    return nameOf(left) < nameOf(right) ? -1 : 1
  })
  return first
}

function createdAt({ metadata }: StorageClass): string {
  return metadata?.creationTimestamp ?? ''
}

function nameOf({ metadata }: StorageClass): string {
  return metadata?.name ?? ''
}
