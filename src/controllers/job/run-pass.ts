/**
 * One reconcile of a job: creates or deletes pods, then adds finished pods to `uncountedTerminatedPods`,
 * removes their finalizers and counts them.
 */
import { isTrue } from '#/api/conditions.ts'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import { addEnds, noFailures, type Failures } from './backoff.ts'
import { takeCensus, type Census } from './census.ts'
import { changePods, releasePod } from './change-pods.ts'
import { findCompletion, type End } from './end.ts'
import { planJob } from './plan.ts'
import { hasFailed } from './tracked-pods.ts'
import { planCounted, planTracking, type TrackingWorld } from './tracking.ts'

export interface Pass {
  readonly job: Job
  /** All pods that the job controls. */
  readonly pods: readonly Pod[]
  readonly client: Client
  readonly recorder: EventRecorder
  /** Kept in memory from earlier reconciles; undefined after a restart. */
  readonly failures: Failures | undefined
  /** Called after the status lists the failed pods, so that no later reconcile counts them again. */
  readonly remember: (failures: Failures) => void
  readonly nowMs: number
}

export async function runPass(pass: Pass): Promise<ReconcileResult | undefined> {
  const { job, pods, nowMs } = pass
  const census = takeCensus(job, pods)
  const failures = failuresNow(pass, census)
  const plan = planJob({ job, pods, census, failures, nowMs })
  const { created, removed, error } = await changePods({ ...pass, plan })
  const activeLeft = census.active.length - removed.length + created
  const end = plan.end ?? findCompletion(job, census, activeLeft)
  const { isUncounted } = plan
  const isPartial = await track(
    pass,
    { job, pods, census, end, created, removed, isUncounted, nowMs },
    failures,
  )
  if (error !== undefined) throw error
  const requeueAfterMs = isPartial ? 0 : plan.requeueAfterMs
  return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
}

/** After a restart the failures are reconstructed from the existing pods, including counted ones. */
function failuresNow({ job, pods, failures }: Pass, census: Census): Failures {
  if (failures) return addEnds(failures, { succeeded: census.newlySucceeded, failed: census.newlyFailed })
  return addEnds(noFailures, {
    succeeded: pods.filter(pod => pod.status?.phase === 'Succeeded'),
    failed: pods.filter(pod => hasFailed(pod, job)),
  })
}

/** Returns true if more pods remain to be counted than one reconcile handles. */
async function track(pass: Pass, world: TrackingWorld, failures: Failures): Promise<boolean> {
  const { client } = pass
  const tracking = planTracking(world)
  const named = await writeStatus(client, world.job, tracking.status)
  pass.remember(failures)
  recordSuspension(pass, named)
  const released = new Set<string>()
  const results = await Promise.allSettled(
    tracking.release.map(async pod => {
      if (await releasePod(client, pod)) released.add(pod.metadata?.uid ?? '')
    }),
  )
  const { status, finished } = planCounted(world, tracking, released)
  const counted = await writeStatus(client, named, status)
  if (finished && world.end) recordEnd(pass, counted, world.end)
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
  return tracking.isPartial
}

/** Returns the updated job; writes only if the status changes. */
async function writeStatus(client: Client, job: Job, status: JobStatus): Promise<Job> {
  return status === job.status ? job : client.updateStatus(jobs, { ...job, status })
}

function recordSuspension({ job: before, recorder }: Pass, after: Job): void {
  const isSuspended = isTrue(after.status?.conditions, 'Suspended')
  if (isSuspended === isTrue(before.status?.conditions, 'Suspended')) return
  const [reason, message] = isSuspended ? ['Suspended', 'Job suspended'] : ['Resumed', 'Job resumed']
  recorder.record(after, { type: 'Normal', reason, message })
}

function recordEnd({ recorder }: Pass, job: Job, { outcome, reason, message }: End): void {
  if (outcome === 'failure') {
    recorder.record(job, { type: 'Warning', reason, message })
    return
  }
  const { spec, status } = job
  if (spec?.completions !== undefined && (status?.succeeded ?? 0) > spec.completions) {
    const surplus = 'Too many succeeded pods running after completion count reached'
    recorder.record(job, { type: 'Warning', reason: 'TooManySucceededPods', message: surplus })
  }
  recorder.record(job, { type: 'Normal', reason: 'Completed', message: 'Job completed' })
}
