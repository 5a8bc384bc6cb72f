/** What claims and volumes look like when they belong together, and when they no longer do. */
import { annotationOf, withAnnotations, withoutAnnotation } from '#/api/annotations.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { bindCompleted, boundByController } from '#/api/persistent-volumes.ts'
import { compareQuantities, tryParseQuantity } from '#/api/quantity.ts'
import { preResizeCapacity } from './names.ts'

/** The volume free again: for anybody when it was chosen here, or for the claim that it was kept for by hand. */
export function unboundVolume(volume: PersistentVolume): PersistentVolume {
  const { claimRef, ...rest } = volume.spec ?? {}
  if (annotationOf(volume, boundByController) !== undefined)
    return withoutAnnotation({ ...volume, spec: rest }, boundByController)
  const { uid: _, ...kept } = claimRef ?? {}
  return { ...volume, spec: { ...rest, claimRef: kept } }
}

/** The claim pointing at the volume; the same one when it does already. */
export function boundClaim(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim {
  const name = volume.metadata?.name ?? ''
  const isPointing = claim.spec?.volumeName === name
  const pointing = isPointing
    ? claim
    : withAnnotations({ ...claim, spec: { ...claim.spec, volumeName: name } }, { [boundByController]: 'yes' })
  return withAnnotations(pointing, { [bindCompleted]: 'yes' })
}

/** The status of a claim that has the volume; the same one when it says so already. */
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

/** Later changes of the size are told by whoever makes them. */
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

/** The status of a claim that has no volume; the same one when it says so already. */
export function unboundStatus(
  { status = {} }: PersistentVolumeClaim,
  phase: 'Pending' | 'Lost',
): PersistentVolumeClaimStatus {
  const { accessModes: _, capacity: __, currentVolumeAttributesClassName: ___, ...rest } = status
  const next = { ...rest, phase }
  return equalJson(next, status) ? status : next
}
