/**
 * Validation of claim updates: the spec is immutable, so that quotas cannot be bypassed, except that a bound
 * claim may request more storage and change its VolumeAttributesClass.
 */
import { forbiddenField, type FieldError } from '../../../field-error.ts'
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../../generated/core/v1.ts'
import { compareQuantities } from '../../../text/quantity.ts'
import { validateImmutable } from '../../../validate-metadata.ts'
import { annotationOf } from '../../../metadata.ts'
import { quantityOf } from '../../../core/resource-amounts.ts'
import { semanticEqual } from '../../validation/semantic-equal.ts'
import { withField, withoutField } from '../../../copy-on-write.ts'
import { normalizeDataSources } from './data-sources.ts'

/** Legacy annotation for the storage class. */
export const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class'

export function validateClaimUpdate(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  return [
    ...validateSpecUnchanged(claim, old),
    ...validateSize(claim, old),
    ...validateImmutable(claim.spec?.volumeMode, old.spec?.volumeMode, 'volumeMode'),
    ...validateAttributesClass(claim, old),
  ]
}

function validateSpecUnchanged(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const errors: FieldError[] = []
  const isFromAnnotation = isClassFromAnnotation(claim, old)
  if (!isFromAnnotation) {
    const annotation = annotationOf(claim, storageClassAnnotation) ?? ''
    const was = annotationOf(old, storageClassAnnotation) ?? ''
    errors.push(...validateImmutable(annotation, was, `metadata.annotations.${storageClassAnnotation}`))
  }
  const spec = comparable(claim.spec ?? {}, claim)
  const oldSpec = comparable(normalizeDataSources(old.spec ?? {}), claim)
  const isVolumeFree = !old.spec?.volumeName
  const isClassFree = isFromAnnotation || isFirstClass(claim, old)
  const isSame = semanticEqual(
    withoutChangeable(spec, isVolumeFree, isClassFree),
    withoutChangeable(oldSpec, isVolumeFree, isClassFree),
  )
  const isSameAttributesClass = spec.volumeAttributesClassName === oldSpec.volumeAttributesClassName
  if (isSame && isSameAttributesClass) return errors
  const detail =
    'spec is immutable after creation except resources.requests and ' +
    'volumeAttributesClassName for bound claims'
  return [...errors, forbiddenField('spec', detail)]
}

/** The spec without the fields that are mutable in a bound claim. */
function comparable(
  spec: PersistentVolumeClaimSpec,
  claim: PersistentVolumeClaim,
): PersistentVolumeClaimSpec {
  if (claim.status?.phase !== 'Bound') return spec
  const sized = withField(spec, 'resources', resources =>
    withField(resources, 'requests', requests => {
      return withoutField(requests, 'storage')
    }),
  )
  return withoutField(sized, 'volumeAttributesClassName')
}

function withoutChangeable(
  spec: PersistentVolumeClaimSpec,
  isVolumeFree: boolean,
  isClassFree: boolean,
): PersistentVolumeClaimSpec {
  const bound = isVolumeFree ? withoutField(spec, 'volumeName') : spec
  return isClassFree ? withoutField(bound, 'storageClassName') : bound
}

/** True if the storage class is moved from the annotation to the field. */
function isClassFromAnnotation(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const name = annotationOf(old, storageClassAnnotation)
  if (name === undefined || old.spec?.storageClassName !== undefined) return false
  return (
    claim.spec?.storageClassName === name && (annotationOf(claim, storageClassAnnotation) ?? name) === name
  )
}

/** True if a claim without a storage class gets one, such as the default class set retroactively. */
function isFirstClass(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const name = claim.spec?.storageClassName
  if (name === undefined || old.spec?.storageClassName !== undefined) return false
  return (annotationOf(old, storageClassAnnotation) ?? name) === name
}

/** A failed expansion may be reduced, but not to the current capacity or below. */
function validateSize(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const size = quantityOf(claim.spec?.resources?.requests?.['storage'] ?? '0')
  const was = quantityOf(old.spec?.resources?.requests?.['storage'] ?? '0')
  const granted = quantityOf(old.status?.capacity?.['storage'] ?? '0')
  if (compareQuantities(size, was) >= 0 || compareQuantities(size, granted) > 0) return []
  return [forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity')]
}

function validateAttributesClass(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): FieldError[] {
  const name = claim.spec?.volumeAttributesClassName
  if (name === old.spec?.volumeAttributesClassName || name) return []
  if (old.status?.currentVolumeAttributesClassName === undefined) return []
  const value = name === undefined ? 'nil' : 'empty string'
  const detail = `update to ${value} is forbidden when status.currentVolumeAttributesClassName is not nil`
  return [forbiddenField('spec.volumeAttributesClassName', detail)]
}
