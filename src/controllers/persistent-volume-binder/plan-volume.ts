import { annotationOf, hasFinalizer, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { isSameMode } from '#/api/core/persistent-volumes.ts'
import { deletionFinalizer, migratedTo, provisionedBy } from './names.ts'

export type VolumePlan =
  | { readonly do: 'phase'; readonly phase: 'Available' | 'Bound' }
  /** The claim cannot use the volume (different volume mode). */
  | { readonly do: 'mismatch'; readonly claim: Stored<PersistentVolumeClaim> }
  /** Enqueue the claim. */
  | { readonly do: 'wake'; readonly claim: Stored<PersistentVolumeClaim> }
  | { readonly do: 'unbind' }
  /** Mark as Released, then apply the reclaim policy. */
  | { readonly do: 'reclaim'; readonly policy: ReclaimPolicy }

export type ReclaimPolicy = 'Retain' | 'Delete' | 'Recycle' | 'Unknown'

/**
 * The action for a volume. `claim` has the uid that the volume references; undefined if it no longer exists.
 */
export function planVolume(
  volume: PersistentVolume,
  claim: Stored<PersistentVolumeClaim> | undefined,
): VolumePlan {
  const { claimRef } = volume.spec ?? {}
  if (!claimRef?.uid) {
    // It will never be released, but its finalizer requires that the storage is deleted first.
    if (isBeingDeleted(volume) && hasFinalizer(volume, deletionFinalizer)) return reclaim(volume)
    return { do: 'phase', phase: 'Available' }
  }
  if (claim === undefined) return reclaim(volume)
  const { volumeName } = claim.spec ?? {}
  if (!volumeName) return isSameMode(volume, claim) ? { do: 'wake', claim } : { do: 'mismatch', claim }
  if (volumeName === volume.metadata.name) return { do: 'phase', phase: 'Bound' }
  const isMadeForClaim = annotationOf(volume, provisionedBy) !== undefined
  if (isMadeForClaim && volume.spec?.persistentVolumeReclaimPolicy === 'Delete') return reclaim(volume)
  return { do: 'unbind' }
}

function reclaim(volume: PersistentVolume): VolumePlan {
  const policy = volume.spec?.persistentVolumeReclaimPolicy ?? ''
  // The CSI driver deletes the storage.
  if (annotationOf(volume, migratedTo)) return { do: 'reclaim', policy: 'Retain' }
  const isKnown = policy === 'Retain' || policy === 'Delete' || policy === 'Recycle'
  return { do: 'reclaim', policy: isKnown ? policy : 'Unknown' }
}
