/** Matching of PersistentVolumeClaims and PersistentVolumes, and the annotations of their binding. */
import { annotationOf, withAnnotations, isBeingDeleted } from '../metadata.ts'
import type { ObjectReference, PersistentVolume, PersistentVolumeClaim } from '../generated/core/v1.ts'
import { quote } from '../text/quote.ts'
import { compareQuantities, tryParseQuantity, zeroQuantity, type Quantity } from '../text/quantity.ts'
import { compileLabelSelector } from '../selectors/selector.ts'
import { storageClassOf } from './storage-classes.ts'

/** On a claim: binding was completed. If the volume is missing after that, the claim is lost. */
export const bindCompletedAnnotation = 'pv.kubernetes.io/bind-completed'
/** The controller chose the binding, so it may be rolled back. */
export const boundByControllerAnnotation = 'pv.kubernetes.io/bound-by-controller'
/** On a claim: the node that the scheduler selected for its first consumer. */
export const selectedNodeAnnotation = 'volume.kubernetes.io/selected-node'

/** True if the claim has a volume and its binding is complete. */
export function isFullyBound(claim: PersistentVolumeClaim): boolean {
  return Boolean(claim.spec?.volumeName) && annotationOf(claim, bindCompletedAnnotation) !== undefined
}

/** True if the volume is bound to the claim or pre-bound to it. */
export function isVolumeBoundToClaim(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { claimRef } = volume.spec ?? {}
  const { namespace, name, uid } = claim.metadata
  if (claimRef === undefined || claimRef.namespace !== namespace || claimRef.name !== name) return false
  return !claimRef.uid || claimRef.uid === uid
}

/**
 * The volume for a claim without `volumeName`: the one pre-bound to it; otherwise, unless binding is delayed,
 * an available one with the fewest access modes, then the smallest.
 */
export function findMatchingVolume<T extends PersistentVolume>(
  claim: PersistentVolumeClaim,
  candidates: readonly T[],
  { isDelayed }: { readonly isDelayed: boolean },
): T | undefined {
  const large = candidates.filter(volume => isFit(volume, claim))
  const kept = large.find(volume => isVolumeBoundToClaim(volume, claim))
  if (kept || isDelayed) return kept
  const selector = claim.spec?.selector && compileLabelSelector(claim.spec.selector)
  const free = large.filter(volume => {
    return isAvailable(volume) && (selector?.matches(volume.metadata.labels ?? {}) ?? true)
  })
  const wanted = storageClassOf(claim)
  let best: T | undefined
  for (const volume of free) {
    if (storageClassOf(volume) === wanted && (best === undefined || isBetter(volume, best))) best = volume
  }
  return best
}

/**
 * Candidates for a claim with delayed binding: the volume pre-bound to it, and the available volumes,
 * smallest first.
 */
export function listCandidateVolumes<T extends PersistentVolume>(
  claim: PersistentVolumeClaim,
  candidates: readonly T[],
): { readonly kept: T | undefined; readonly free: readonly T[] } {
  const large = candidates.filter(volume => isLike(volume, claim))
  const selector = claim.spec?.selector && compileLabelSelector(claim.spec.selector)
  const wanted = storageClassOf(claim)
  const free = large.filter(volume => {
    if (!isAvailable(volume) || storageClassOf(volume) !== wanted || !hasAccessModes(volume, claim))
      return false
    return selector?.matches(volume.metadata.labels ?? {}) ?? true
  })
  return {
    kept: large.find(volume => isVolumeBoundToClaim(volume, claim)),
    free: free.toSorted((left, right) => compareQuantities(sizeOf(left), sizeOf(right))),
  }
}

export function isAvailable({ spec, status }: PersistentVolume): boolean {
  return status?.phase === 'Available' && spec?.claimRef === undefined
}

/** The reason that a claim cannot be bound to the volume it names; undefined if it can. */
export function checkVolumeSatisfyClaim(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
): string | undefined {
  if (isBeingDeleted(volume)) return `the volume is marked for deletion ${quote(volume.metadata.name ?? '')}`
  if (isTooSmall(volume, claim)) return 'requested PV is too small'
  if (storageClassOf(volume) !== storageClassOf(claim)) return 'storageClassName does not match'
  if (!isSameAttributesClass(volume, claim)) return 'volumeAttributesClassName does not match'
  if (!isSameMode(volume, claim)) return 'incompatible volumeMode'
  if (!hasAccessModes(volume, claim)) return 'incompatible accessMode'
  return undefined
}

export function isSameMode(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (volume.spec?.volumeMode ?? 'Filesystem') === (claim.spec?.volumeMode ?? 'Filesystem')
}

export function referenceTo({ metadata }: PersistentVolumeClaim): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata
  return {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    ...(namespace && { namespace }),
    ...(name && { name }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  }
}

/** The volume with a `claimRef` to the claim; the same object if already set. */
export function boundVolume<T extends PersistentVolume>(volume: T, claim: PersistentVolumeClaim): T {
  const isChosenHere = !isVolumeBoundToClaim(volume, claim)
  const pointing =
    volume.spec?.claimRef?.uid === claim.metadata.uid && !isChosenHere
      ? volume
      : { ...volume, spec: { ...volume.spec, claimRef: referenceTo(claim) } }
  return isChosenHere ? withAnnotations(pointing, { [boundByControllerAnnotation]: 'yes' }) : pointing
}

function isFit(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return hasAccessModes(volume, claim) && isLike(volume, claim)
}

function isLike(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (
    !isBeingDeleted(volume) &&
    isSameMode(volume, claim) &&
    isSameAttributesClass(volume, claim) &&
    !isTooSmall(volume, claim)
  )
}

function isTooSmall(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return compareQuantities(sizeOf(volume), requestedSize(claim)) < 0
}

export function requestedSize({ spec }: PersistentVolumeClaim): Quantity {
  return amountOf(spec?.resources?.requests?.['storage'])
}

function isSameAttributesClass({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (spec?.volumeAttributesClassName ?? '') === (claim.spec?.volumeAttributesClassName ?? '')
}

function hasAccessModes({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  return (claim.spec?.accessModes ?? []).every(mode => spec?.accessModes?.includes(mode))
}

function isBetter(volume: PersistentVolume, best: PersistentVolume): boolean {
  const modes = (volume.spec?.accessModes?.length ?? 0) - (best.spec?.accessModes?.length ?? 0)
  return (modes || compareQuantities(sizeOf(volume), sizeOf(best))) < 0
}

function sizeOf({ spec }: PersistentVolume): Quantity {
  return amountOf(spec?.capacity?.['storage'])
}

function amountOf(text: string | undefined): Quantity {
  return (text !== undefined && tryParseQuantity(text)) || zeroQuantity
}
