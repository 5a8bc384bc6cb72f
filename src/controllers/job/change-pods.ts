/** Creates and deletes a job's pods, and records events. */
import { messageOf } from '#/base/message-of.ts'
import { isApiError } from '#/api/errors.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import { slowStartBatch } from '../shared/slow-start-batch.ts'
import type { JobPlan } from './plan.ts'
import { podOfJob } from './pod-of-job.ts'
import { hasJobTrackingFinalizer, trackingFinalizer } from './tracked-pods.ts'

export interface PodsChange {
  readonly client: Client
  readonly recorder: EventRecorder
  readonly job: Stored<Job>
  readonly plan: JobPlan
}

export interface ChangedPods {
  readonly created: number
  readonly removed: readonly Stored<Pod>[]
  readonly failedCreations: number
  /** The first failure. */
  readonly error: unknown
}

export async function changePods(change: PodsChange): Promise<ChangedPods> {
  const { create, remove } = change.plan
  if (remove.length > 0) return removePods(change)
  let failedCreations = 0
  const { succeeded, error } = await slowStartBatch(create.length, async index => {
    try {
      await createPod(change, index)
    } catch (cause) {
      failedCreations++
      throw cause
    }
  })
  return { created: succeeded, removed: [], failedCreations, error }
}

async function createPod({ client, recorder, job, plan }: PodsChange, index: number): Promise<void> {
  try {
    const { metadata } = await client.create(pods, podOfJob(job, plan.create[index] ?? {}))
    recorder.record(job, {
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: `Created pod: ${metadata.name}`,
    })
  } catch (error) {
    recorder.record(job, {
      type: 'Warning',
      reason: 'FailedCreate',
      message: `Error creating: ${messageOf(error)}`,
    })
    throw error
  }
}

async function removePods(change: PodsChange): Promise<ChangedPods> {
  const removed: Stored<Pod>[] = []
  const results = await Promise.allSettled(
    change.plan.remove.map(async pod => {
      await removePod(change, pod)
      removed.push(pod)
    }),
  )
  const failed = results.find(result => result.status === 'rejected')
  return { created: 0, removed, failedCreations: 0, error: failed?.reason }
}

async function removePod({ client, recorder, job, plan }: PodsChange, pod: Stored<Pod>): Promise<void> {
  const { namespace, name, uid } = pod.metadata
  try {
    if (plan.isFinalizerRemoved && hasJobTrackingFinalizer(pod)) await removeTrackingFinalizer(client, pod)
    await client.delete(pods, { namespace, name }, { preconditions: { uid } })
    recorder.record(job, { type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${name}` })
  } catch (error) {
    if (isApiError(error, 'NotFound')) return
    recorder.record(job, {
      type: 'Warning',
      reason: 'FailedDelete',
      message: `Error deleting: ${messageOf(error)}`,
    })
    throw error
  }
}

/**
 * Removes the tracking finalizer. Returns false if the pod no longer exists, which the informer will show
 * soon.
 */
export async function removeTrackingFinalizer(
  client: Client,
  pod: Stored<Pod>,
  { resourceVersion }: { readonly resourceVersion?: string | undefined } = {},
): Promise<boolean> {
  const { namespace, name, uid } = pod.metadata
  const metadata = {
    uid,
    ...(resourceVersion && { resourceVersion }),
    '$deleteFromPrimitiveList/finalizers': [trackingFinalizer],
  }
  try {
    await client.patch(pods, { namespace, name }, { type: 'strategic', patch: { metadata } })
    return true
  } catch (error) {
    if (isApiError(error, 'NotFound')) return false
    throw error
  }
}
