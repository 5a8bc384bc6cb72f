/** Reclaims released volumes according to their reclaim policy. */
import { messageOf } from '#/base/message-of.ts'
import { annotationOf, hasFinalizer, isBeingDeleted, withoutFinalizer, type Stored } from '#/api/metadata.ts'
import { isApiError } from '#/api/errors.ts'
import { persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import type { EventContent } from '#/client/event-recorder.ts'
import type { Provisioner } from '../shared/provisioner.ts'
import { isUnsupportedInTree } from './csi-migration.ts'
import { deletionFinalizer, provisionedBy } from './names.ts'
import type { ReclaimPolicy } from './plan-volume.ts'
import { setPhase, updateVolume, type Writing } from './write.ts'

export interface Reclaiming extends Writing {
  readonly provisioners: ReadonlyMap<string, Provisioner>
}

export async function reclaim(
  reclaiming: Reclaiming,
  given: Stored<PersistentVolume>,
  policy: ReclaimPolicy,
): Promise<void> {
  // Keep the Failed phase visible while retrying.
  const isFailed = given.status?.phase === 'Failed'
  const volume = isFailed ? given : await setPhase(reclaiming, given, { phase: 'Released' })
  switch (policy) {
    case 'Retain':
      return
    case 'Delete':
      return deleteStorage(reclaiming, volume)
    case 'Recycle':
      return fail(reclaiming, volume, {
        reason: 'VolumeFailedRecycle',
        message: 'No recycler plugin found for the volume!',
      })
    case 'Unknown': {
      const message = 'Volume has unrecognized PersistentVolumeReclaimPolicy'
      return fail(reclaiming, volume, { reason: 'VolumeUnknownReclaimPolicy', message })
    }
  }
}

/** Deletes the storage before the object, so that a crash in between leads to a retry. */
async function deleteStorage(reclaiming: Reclaiming, volume: Stored<PersistentVolume>): Promise<void> {
  const deleter = deleterOf(reclaiming, volume)
  if (deleter === 'external') return
  if (deleter === 'none') {
    const about = `error getting deleter volume plugin for volume ${quote(volume.metadata.name)}`
    return fail(reclaiming, volume, {
      reason: 'VolumeFailedDelete',
      message: `${about}: no deletable volume plugin matched`,
    })
  }
  // The storage is deleted already; other finalizers keep the object.
  if (isBeingDeleted(volume) && !hasFinalizer(volume, deletionFinalizer)) return
  try {
    await deleter.delete(volume)
  } catch (error) {
    await fail(reclaiming, volume, { reason: 'VolumeFailedDelete', message: messageOf(error) })
    throw error
  }
  const { name, uid } = volume.metadata
  try {
    const free = await updateVolume(reclaiming, withoutFinalizer(volume, deletionFinalizer), volume)
    if (isBeingDeleted(free)) return
    await reclaiming.client.delete(persistentVolumes, { name }, { preconditions: { uid } })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

/** The in-process provisioner that deletes the storage, `external`, or `none`. */
function deleterOf(
  { provisioners }: Reclaiming,
  volume: PersistentVolume,
): Provisioner | 'external' | 'none' {
  const provisioner = annotationOf(volume, provisionedBy)
  if (provisioner)
    return provisioners.get(provisioner) ?? (isUnsupportedInTree(provisioner) ? 'none' : 'external')
  return volume.spec?.csi === undefined ? 'none' : 'external'
}

async function fail(
  writing: Writing,
  volume: Stored<PersistentVolume>,
  { reason, message }: Pick<EventContent, 'reason' | 'message'>,
): Promise<void> {
  const event: EventContent = { type: 'Warning', reason, message }
  await setPhase(writing, volume, { phase: 'Failed', event })
}
