/**
 * Generic ephemeral volumes: creates a PersistentVolumeClaim owned by the pod for each.
 * https://kubernetes.io/docs/concepts/storage/ephemeral-volumes/#generic-ephemeral-volumes
 */
import type { ScalarSeries } from '#/base/metrics.ts'
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
  queueName: 'ephemeral_volume',
  account: 'ephemeral-volume-controller',
  component: 'ephemeral_volume',
  setUp,
}

function setUp({ recorder, informer, enqueue, metrics }: ControllerContext): Reconcile {
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

  const stability = 'ALPHA'
  const subsystem = 'ephemeral_volume_controller'
  const created = metrics
    .counter({ name: `${subsystem}_create_total`, help: 'Claims to be created.', stability })
    .with()
  const failed = metrics
    .counter({ name: `${subsystem}_create_failures_total`, help: 'Claims that were not created.', stability })
    .with()
  return async ({ key, client }) => {
    const pod = allPods.get(key)
    if (pod === undefined || !wantsClaims(pod)) return undefined
    for (const volume of pod.spec?.volumes ?? []) {
      try {
        await ensureClaim(pod, volume, { client, claims, created, failed })
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

interface ClaimWork {
  readonly client: Client
  readonly claims: Informer<PersistentVolumeClaim>
  readonly created: ScalarSeries
  readonly failed: ScalarSeries
}

async function ensureClaim(
  pod: Stored<Pod>,
  volume: Volume,
  { client, claims, created, failed }: ClaimWork,
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
    created.add()
    try {
      await client.create(persistentVolumeClaims, { metadata, spec: template.spec })
    } catch (cause) {
      failed.add()
      throw new Error(`create PVC ${name}: ${messageOf(cause)}`, { cause })
    }
  } else if (!isClaimForPod(found, pod)) {
    const about = `PVC ${keyOf(found)} was not created for pod ${keyOf(pod)}`
    throw new Error(`${about} (pod is not owner)`)
  }
}
