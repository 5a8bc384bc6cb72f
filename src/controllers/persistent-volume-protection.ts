/**
 * Prevents the deletion of volumes while they are bound to a claim.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection
 */
import { persistentVolumes } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolume } from '#/api/generated/core/v1.ts'
import { hasFinalizer, isBeingDeleted, withFinalizer, withoutFinalizer } from '#/api/metadata.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const persistentVolumeProtectionController: Controller = {
  name: 'persistentvolume-protection-controller',
  queueName: 'pvprotection',
  account: 'pv-protection-controller',
  setUp,
}

const finalizer = 'kubernetes.io/pv-protection'

function setUp({ informer, enqueue }: ControllerContext): Reconcile {
  const volumes = informer(persistentVolumes)
  volumes.addEventHandler((name, { newObject }) => {
    if (newObject !== undefined && planOf(newObject) !== newObject) enqueue(name)
  })

  return async ({ key, client }) => {
    const volume = volumes.get(key)
    if (volume === undefined) return undefined
    const planned = planOf(volume)
    if (planned !== volume) await client.update(persistentVolumes, planned)
    return undefined
  }
}

/** The desired volume; the same object if nothing changes. */
function planOf(volume: PersistentVolume): PersistentVolume {
  if (!isBeingDeleted(volume)) return withFinalizer(volume, finalizer)
  if (volume.status?.phase === 'Bound' || !hasFinalizer(volume, finalizer)) return volume
  return withoutFinalizer(volume, finalizer)
}
