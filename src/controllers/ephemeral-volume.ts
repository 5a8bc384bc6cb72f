/**
 * Generic ephemeral volumes: creates a PersistentVolumeClaim owned by the pod for each.
 * https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#generic-ephemeral-volumes
 */
import { messageOf } from '#/base/message-of.ts'
import { persistentVolumeClaims, pods } from '#/api/generated/core/v1-resources.ts'
import type { PersistentVolumeClaim, Pod, Volume } from '#/api/generated/core/v1.ts'
import { controllerReference, formatKey, isBeingDeleted, keyOf, type Stored } from '#/api/metadata.ts'
import { ephemeralClaimName, isClaimForPod } from '#/api/core/pod-volumes.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { podsByClaim } from './shared/pod-volumes.ts'

export const ephemeralVolumeController: Controller = {
  name: 'ephemeral-volume-controller',
  account: 'ephemeral-volume-controller',
  component: 'ephemeral_volume',
  setUp,
}

function setUp({ recorder, informer, enqueue }: ControllerContext): Reconcile {
  const allPods = informer(pods)
  const claims = informer(persistentVolumeClaims)
  const byClaim = podsByClaim(allPods)
  allPods.addEventHandler((key, { oldObject, newObject }) => {
    if (oldObject === undefined && newObject !== undefined && wantsClaims(newObject)) enqueue(key)
  })
  // A deleted claim may be one that the pod needs, or one with a conflicting name.
  claims.addEventHandler((key, { newObject }) => {
    if (newObject === undefined) for (const pod of byClaim.get(key)) if (wantsClaims(pod)) enqueue(keyOf(pod))
  })

  return async ({ key, client }) => {
    const pod = allPods.get(key)
    if (pod === undefined || !wantsClaims(pod)) return undefined
    for (const volume of pod.spec?.volumes ?? []) {
      try {
        await ensureClaim(pod, volume, { client, claims })
      } catch (error) {
        const message = `ephemeral volume ${volume.name}: ${messageOf(error)}`
        recorder.record(pod, { type: 'Warning', reason: 'FailedBinding', message })
        throw error
      }
    }
    return undefined
  }
}

function wantsClaims(pod: Pod): boolean {
  return (
    !isBeingDeleted(pod) && (pod.spec?.volumes?.some(({ ephemeral }) => ephemeral !== undefined) ?? false)
  )
}

async function ensureClaim(
  pod: Stored<Pod>,
  volume: Volume,
  { client, claims }: { readonly client: Client; readonly claims: Informer<PersistentVolumeClaim> },
): Promise<void> {
  const template = volume.ephemeral?.volumeClaimTemplate
  if (template === undefined) return
  const { namespace = '' } = pod.metadata
  const name = ephemeralClaimName(pod, volume.name)
  const found = claims.get(formatKey({ namespace, name }))
  if (found === undefined) {
    const { annotations, labels } = template.metadata ?? {}
    const metadata = {
      namespace,
      name,
      ownerReferences: [controllerReference(pod)],
      ...(annotations && { annotations }),
      ...(labels && { labels }),
    }
    try {
      await client.create(persistentVolumeClaims, { metadata, spec: template.spec })
    } catch (cause) {
      throw new Error(`create PVC ${name}: ${messageOf(cause)}`, { cause })
    }
  } else if (!isClaimForPod(found, pod)) {
    const about = `PVC ${keyOf(found)} was not created for pod ${keyOf(pod)}`
    throw new Error(`${about} (pod is not owner)`)
  }
}
