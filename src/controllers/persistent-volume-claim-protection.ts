/**
 * Prevents the deletion of claims while pods use them. Unscheduled pods do not count, since they are not
 * started with a claim that is being deleted. Finished pods count until they are deleted.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection
 */
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { hasFinalizer, isBeingDeleted, withFinalizer, withoutFinalizer } from '#/api/metadata.ts'
import { volumeClaimKeysOf, claimsOf, isClaimForPod } from '#/api/core/pod-volumes.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { podsByClaim } from './shared/pod-volumes.ts'

export const persistentVolumeClaimProtectionController: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  queueName: 'pvcprotection',
  account: 'pvc-protection-controller',
  setUp,
}

const finalizer = 'kubernetes.io/pvc-protection'

function setUp({ informer, enqueue }: ControllerContext): Reconcile {
  const claims = informer(persistentVolumeClaims)
  const allPods = informer(pods)
  const byClaim = podsByClaim(allPods)
  claims.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isBeingDeleted(newObject) === hasFinalizer(newObject, finalizer))
      enqueue(key)
  })
  allPods.addEventHandler((_key, { oldObject, newObject }) => {
    if (newObject !== undefined && oldObject !== undefined && isShutDown(oldObject) === isShutDown(newObject))
      return
    for (const key of volumeClaimKeysOf(newObject ?? oldObject)) {
      const claim = claims.get(key)
      if (claim !== undefined && isBeingDeleted(claim)) enqueue(key)
    }
  })

  return async ({ key, namespace, client }) => {
    const claim = claims.get(key)
    if (claim === undefined || isBeingDeleted(claim) !== hasFinalizer(claim, finalizer)) return undefined
    if (!isBeingDeleted(claim)) {
      await client.update(persistentVolumeClaims, withFinalizer(claim, finalizer))
      return undefined
    }
    if (byClaim.get(key).some(pod => uses(pod, claim))) return undefined
    // Confirm with the API server: the informer may not show the newest pod yet, and deletion is
    // irreversible.
    const { items } = await client.listAll(pods, { namespace })
    if (!items.some(pod => uses(pod, claim)))
      await client.update(persistentVolumeClaims, withoutFinalizer(claim, finalizer))
    return undefined
  }
}

function uses(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec?.nodeName) return false
  return claimsOf(pod).some(({ name, isEphemeral }) => {
    return name === claim.metadata.name && (!isEphemeral || (!isShutDown(pod) && isClaimForPod(claim, pod)))
  })
}

/** The pod has stopped on its node and is about to be removed: its ephemeral claims may be deleted first. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0
}
