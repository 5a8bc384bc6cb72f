import { annotationOf } from '#/api/annotations.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import { hasFinalizer, isBeingDeleted } from '#/api/metadata.ts'
import { isSameMode } from '#/api/persistent-volumes.ts'
import { deletionFinalizer, migratedTo, provisionedBy } from './names.ts'

export type VolumePlan =
  | { readonly do: 'phase'; readonly phase: 'Available' | 'Bound' }
  /** The claim that it is for could not use it. */
  | { readonly do: 'mismatch'; readonly claim: PersistentVolumeClaim }
  /** The claim that it is for is looked at. */
  | { readonly do: 'wake'; readonly claim: PersistentVolumeClaim }
  | { readonly do: 'unbind' }
  /** It is Released, and its policy says what becomes of it. */
  | { readonly do: 'reclaim'; readonly policy: ReclaimPolicy }

export type ReclaimPolicy = 'Retain' | 'Delete' | 'Recycle' | 'Unknown'

/** What becomes of a volume. The claim is the very one that it points at, and is undefined when that is gone. */
export function planVolume(volume: PersistentVolume, claim: PersistentVolumeClaim | undefined): VolumePlan {
  const { claimRef } = volume.spec ?? {}
  if (!claimRef?.uid) {
    // Nobody will ever release it, and it cannot go before its storage.
    if (isBeingDeleted(volume) && hasFinalizer(volume, deletionFinalizer)) return reclaim(volume)
    return { do: 'phase', phase: 'Available' }
  }
  if (claim === undefined) return reclaim(volume)
  const { volumeName } = claim.spec ?? {}
  if (!volumeName) return isSameMode(volume, claim) ? { do: 'wake', claim } : { do: 'mismatch', claim }
  if (volumeName === volume.metadata?.name) return { do: 'phase', phase: 'Bound' }
  const isMadeForClaim = annotationOf(volume, provisionedBy) !== undefined
  if (isMadeForClaim && volume.spec?.persistentVolumeReclaimPolicy === 'Delete') return reclaim(volume)
  return { do: 'unbind' }
}

function reclaim(volume: PersistentVolume): VolumePlan {
  const policy = volume.spec?.persistentVolumeReclaimPolicy ?? ''
  // The driver does it.
  if (annotationOf(volume, migratedTo)) return { do: 'reclaim', policy: 'Retain' }
  const isKnown = policy === 'Retain' || policy === 'Delete' || policy === 'Recycle'
  return { do: 'reclaim', policy: isKnown ? policy : 'Unknown' }
}
