/**
 * Claims do not go while a pod uses them. A pod that has no node does not count: it will not be started with a claim
 * that is on its way out. One that has finished does, as long as the object is there.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#storage-object-in-use-protection
 */
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim, Pod } from '#/api/generated/core/v1.ts'
import { hasFinalizer, isBeingDeleted, withFinalizer, withoutFinalizer } from '#/api/metadata.ts'
import { claimKeysOf, claimsOf, isClaimForPod } from '#/api/pod-volumes.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { podsByClaim } from './pod-volumes.ts'

export const persistentVolumeClaimProtectionController: Controller = {
  name: 'persistentvolumeclaim-protection-controller',
  account: 'pvc-protection-controller',
  setUp,
}

const finalizer = 'kubernetes.io/pvc-protection'

function setUp({ informer, enqueue }: ControllerContext): Reconcile {
  const claims = informer(persistentVolumeClaims)
  const allPods = informer(pods)
  const byClaim = podsByClaim(allPods)
  claims.onChange((key, { after }) => {
    if (after !== undefined && isBeingDeleted(after) === hasFinalizer(after, finalizer)) enqueue(key)
  })
  allPods.onChange((_key, { before, after }) => {
    if (after !== undefined && before !== undefined && isShutDown(before) === isShutDown(after)) return
    for (const key of claimKeysOf(after ?? before)) {
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
    // The copy may not show yet the pod that came last, and nothing brings a claim back.
    const { items } = await client.listAll(pods, { namespace })
    if (!items.some(pod => uses(pod, claim)))
      await client.update(persistentVolumeClaims, withoutFinalizer(claim, finalizer))
    return undefined
  }
}

function uses(pod: Pod, claim: PersistentVolumeClaim): boolean {
  if (!pod.spec?.nodeName) return false
  return claimsOf(pod).some(({ name, isEphemeral }) => {
    return name === claim.metadata?.name && (!isEphemeral || (!isShutDown(pod) && isClaimForPod(claim, pod)))
  })
}

/** Nothing of it is left on the node, and the object goes now: what it owns may go first. */
function isShutDown({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === 0
}
