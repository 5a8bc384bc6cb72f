/** Pure functions that set or remove the binding of claims and volumes. */
import type { Stored } from '#/api/metadata.ts'
import { annotationOf, withAnnotations, withoutAnnotation } from '#/api/metadata.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { bindCompletedAnnotation, boundByControllerAnnotation } from '#/api/core/persistent-volumes.ts'
import { compareQuantities, tryParseQuantity } from '#/api/text/quantity.ts'
import { preResizeCapacity } from './names.ts'

/**
 * The unbound volume: without `claimRef` if the controller bound it; otherwise it stays reserved for the
 * claim that the user pre-bound it to.
 */
export function unboundVolume(volume: Stored<PersistentVolume>): Stored<PersistentVolume> {
  const { claimRef, ...rest } = volume.spec ?? {}
  if (annotationOf(volume, boundByControllerAnnotation) !== undefined)
    return withoutAnnotation({ ...volume, spec: rest }, boundByControllerAnnotation)
  const { uid: _, ...kept } = claimRef ?? {}
  return { ...volume, spec: { ...rest, claimRef: kept } }
}

/** The claim with its reference to the volume; the same object if nothing changes. */
export function boundClaim(
  claim: Stored<PersistentVolumeClaim>,
  volume: Stored<PersistentVolume>,
): Stored<PersistentVolumeClaim> {
  const name = volume.metadata.name
  const isPointing = claim.spec?.volumeName === name
  const pointing = isPointing
    ? claim
    : withAnnotations(
        { ...claim, spec: { ...claim.spec, volumeName: name } },
        { [boundByControllerAnnotation]: 'yes' },
      )
  return withAnnotations(pointing, { [bindCompletedAnnotation]: 'yes' })
}

/** The status of a bound claim; the same object if nothing changes. */
export function boundStatus(
  { status = {} }: PersistentVolumeClaim,
  volume: PersistentVolume,
): PersistentVolumeClaimStatus {
  const { accessModes, volumeAttributesClassName } = volume.spec ?? {}
  const next = {
    ...status,
    phase: 'Bound',
    ...(accessModes && { accessModes }),
    ...(status.phase !== 'Bound' && { capacity: capacityFrom(status, volume) }),
    ...(status.phase === 'Pending' &&
      volumeAttributesClassName !== undefined && {
        currentVolumeAttributesClassName: volumeAttributesClassName,
      }),
  }
  return equalJson(next, status) ? status : next
}

/** Only for the initial binding; later changes of capacity are written by the expansion. */
function capacityFrom(
  status: PersistentVolumeClaimStatus,
  volume: PersistentVolume,
): Readonly<Record<string, string>> {
  const capacity = volume.spec?.capacity ?? {}
  const before = annotationOf(volume, preResizeCapacity)
  if (before !== undefined && tryParseQuantity(before)) return { ...status.capacity, storage: before }
  const [had, has] = [status.capacity?.['storage'], capacity['storage']].map(text =>
    tryParseQuantity(text ?? ''),
  )
  return status.capacity && had && has && compareQuantities(had, has) === 0 ? status.capacity : capacity
}

/** The status of an unbound claim; the same object if nothing changes. */
export function unboundStatus(
  { status = {} }: PersistentVolumeClaim,
  phase: 'Pending' | 'Lost',
): PersistentVolumeClaimStatus {
  const { accessModes: _, capacity: __, currentVolumeAttributesClassName: ___, ...rest } = status
  const next = { ...rest, phase }
  return equalJson(next, status) ? status : next
}
