/**
 * Deletes finished jobs, and with them their pods, after `ttlSecondsAfterFinished`.
 * https://kubernetes.io/docs/concepts/workloads/controllers/ttlafterfinished/
 */
import { exponentialBuckets } from '#/base/exponential-buckets.ts'
import { isApiError } from '#/api/errors.ts'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { finishedCondition } from './shared/finished-jobs.ts'

export const ttlAfterFinishedController: Controller = {
  name: 'ttl-after-finished-controller',
  queueName: 'ttl_jobs_to_delete',
  account: 'ttl-after-finished-controller',
  setUp,
}

function setUp({ platform, informer, enqueue, metrics }: ControllerContext): Reconcile {
  const allJobs = informer(jobs)
  const jobDeletionSeconds = metrics
    .histogram({
      name: 'ttl_after_finished_controller_job_deletion_duration_seconds',
      help: 'Time from when the TTL of a job ended until the job was deleted.',
      buckets: exponentialBuckets(0.1, 2, 14),
      stability: 'ALPHA',
    })
    .with()
  allJobs.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && expiresAtMs(newObject) !== undefined) enqueue(key)
  })
  const remainingMs = (job: Job | undefined): number | undefined => {
    const expiresMs = job && expiresAtMs(job)
    return expiresMs === undefined ? undefined : expiresMs - platform.clock.now()
  }

  return async ({ key, namespace, name, client }) => {
    const soonMs = remainingMs(allJobs.get(key))
    if (soonMs === undefined) return undefined
    if (soonMs > 0) return { requeueAfterMs: soonMs }
    // Read from the API server, since the TTL may just have been extended.
    const job = await client.find(jobs, { namespace, name })
    const leftMs = remainingMs(job)
    if (job === undefined || leftMs === undefined) return undefined
    if (leftMs > 0) return { requeueAfterMs: leftMs }
    const { uid, resourceVersion } = job.metadata
    try {
      const preconditions = { uid, resourceVersion }
      await client.delete(jobs, { namespace, name }, { propagationPolicy: 'Foreground', preconditions })
      jobDeletionSeconds.observe(-(remainingMs(job) ?? 0) / 1_000)
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
    return undefined
  }
}

/** Undefined if the job has no TTL, is not finished or is being deleted. */
function expiresAtMs(job: Job): number | undefined {
  const ttlSeconds = job.spec?.ttlSecondsAfterFinished
  if (ttlSeconds === undefined || isBeingDeleted(job)) return undefined
  const finishedMs = parseTime(finishedCondition(job)?.lastTransitionTime ?? '')
  return finishedMs === undefined ? undefined : finishedMs + ttlSeconds * 1_000
}
