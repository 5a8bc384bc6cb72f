import { annotationOf, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { PersistentVolume, PersistentVolumeClaim } from '#/api/generated/core/v1.ts'
import type { StorageClass } from '#/api/generated/storage/v1.ts'
import {
  bindCompletedAnnotation,
  isVolumeBoundToClaim,
  findMatchingVolume,
  checkVolumeSatisfyClaim,
  selectedNodeAnnotation,
} from '#/api/core/persistent-volumes.ts'
import { quote } from '#/api/text/quote.ts'
import { hasStorageClass, storageClassOf } from '#/api/core/storage-classes.ts'
import type { EventContent } from '#/client/event-recorder.ts'

export type VolumeClaimPlan =
  | { readonly do: 'nothing' }
  /** Write the missing parts of the binding. */
  | { readonly do: 'bind'; readonly volume: Stored<PersistentVolume> }
  /** The claim stays Pending. */
  | { readonly do: 'wait'; readonly event?: EventContent }
  /** Set the default storage class; the claim is then reconciled again. */
  | { readonly do: 'assign-class'; readonly storageClass: string }
  | { readonly do: 'provision'; readonly storageClass: Stored<StorageClass> }
  /** The bound volume is gone: the claim becomes Lost. */
  | { readonly do: 'lose'; readonly event: EventContent }

export interface VolumeClaimWorld {
  readonly claim: Stored<PersistentVolumeClaim>
  /** The volume that `spec.volumeName` names. */
  readonly volume: Stored<PersistentVolume> | undefined
  /** Volumes reserved for the claim, and available ones of its storage class. */
  readonly candidates: readonly Stored<PersistentVolume>[]
  /** The storage class that the claim names. */
  readonly storageClass: Stored<StorageClass> | undefined
  readonly defaultClass: () => StorageClass | undefined
  /** Names of unscheduled pods that use the claim. */
  readonly unscheduledPods: () => readonly string[]
}

export function planVolumeClaim(world: VolumeClaimWorld): VolumeClaimPlan {
  const { claim } = world
  if (annotationOf(claim, bindCompletedAnnotation) !== undefined) return planBoundClaim(world)
  // A claim being deleted is not bound any more.
  if (isBeingDeleted(claim)) return { do: 'nothing' }
  return claim.spec?.volumeName ? planClaimWithVolume(world) : planFreeClaim(world)
}

function planBoundClaim({ claim, volume }: VolumeClaimWorld): VolumeClaimPlan {
  const lost = (reason: string, message: string): VolumeClaimPlan => {
    return { do: 'lose', event: { type: 'Warning', reason, message } }
  }
  if (!claim.spec?.volumeName)
    return lost(
      'ClaimLost',
      'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!',
    )
  if (volume === undefined)
    return lost('ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!')
  const { claimRef } = volume.spec ?? {}
  if (claimRef === undefined || claimRef.uid === claim.metadata.uid) return { do: 'bind', volume }
  // Pre-bound by the user, for example after a restore.
  if (!claimRef.uid && isVolumeBoundToClaim(volume, claim)) return { do: 'bind', volume }
  return lost('ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly')
}

/** The user has chosen a volume. */
function planClaimWithVolume({ claim, volume }: VolumeClaimWorld): VolumeClaimPlan {
  if (volume === undefined) return { do: 'wait' }
  if (isVolumeBoundToClaim(volume, claim)) return { do: 'bind', volume }
  const name = quote(volume.metadata.name)
  if (volume.spec?.claimRef !== undefined) {
    const message = `volume ${name} already bound to a different claim.`
    return { do: 'wait', event: { type: 'Warning', reason: 'FailedBinding', message } }
  }
  const mismatch = checkVolumeSatisfyClaim(volume, claim)
  if (mismatch === undefined) return { do: 'bind', volume }
  const message = `Cannot bind to requested volume ${name}: ${mismatch}`
  return { do: 'wait', event: { type: 'Warning', reason: 'VolumeMismatch', message } }
}

function planFreeClaim(world: VolumeClaimWorld): VolumeClaimPlan {
  const { claim, candidates, storageClass, defaultClass } = world
  const isDelayed = storageClass?.volumeBindingMode === 'WaitForFirstConsumer'
  const volume = findMatchingVolume(claim, candidates, { isDelayed })
  if (volume !== undefined) return { do: 'bind', volume }
  if (!hasStorageClass(claim)) {
    const assigned = defaultClass()?.metadata.name
    if (assigned !== undefined) return { do: 'assign-class', storageClass: assigned }
  }
  if (isDelayed && annotationOf(claim, selectedNodeAnnotation) === undefined) {
    return { do: 'wait', event: waitingForConsumer(world.unscheduledPods()) }
  }
  const wanted = storageClassOf(claim)
  if (storageClass !== undefined) return { do: 'provision', storageClass }
  if (wanted !== '') {
    const message = `storageclass.storage.k8s.io ${quote(wanted)} not found`
    return { do: 'wait', event: { type: 'Warning', reason: 'ProvisioningFailed', message } }
  }
  const message = 'no persistent volumes available for this claim and no storage class is set'
  return { do: 'wait', event: { type: 'Normal', reason: 'FailedBinding', message } }
}

function waitingForConsumer(pods: readonly string[]): EventContent {
  if (pods.length === 0) {
    const message = 'waiting for first consumer to be created before binding'
    return { type: 'Normal', reason: 'WaitForFirstConsumer', message }
  }
  const message = `waiting for pod${pods.length > 1 ? 's' : ''} ${pods.join(',')} to be scheduled`
  return { type: 'Normal', reason: 'WaitForPodScheduled', message }
}
