/**
 * One reconcile of a job: creates or deletes pods, then adds finished pods to `uncountedTerminatedPods`,
 * removes their finalizers and counts them.
 */
import { isTrue } from '#/api/conditions.ts'
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job, JobStatus } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import { addFinished, noFailures, type Failures } from './backoff.ts'
import { countPods, type PodCounts } from './pod-counts.ts'
import { changePods, removeTrackingFinalizer } from './change-pods.ts'
import { findCompletion, type JobOutcome } from './outcome.ts'
import { matchPodFailurePolicy } from './failure-policy.ts'
import type { JobMetrics, JobSyncAction } from './job-metrics.ts'
import { planJob, type JobPlan } from './plan.ts'
import { hasFailed, isTerminating } from './tracked-pods.ts'
import { planFlushUncounted, planUncountedPods, type TrackingWorld } from './tracking.ts'

export interface JobSync {
  readonly job: Stored<Job>
  /** All pods that the job controls. */
  readonly pods: readonly Stored<Pod>[]
  readonly client: Client
  readonly recorder: EventRecorder
  /** Kept in memory from earlier reconciles; undefined after a restart. */
  readonly failures: Failures | undefined
  /** Called after the status lists the failed pods, so that no later reconcile counts them again. */
  readonly remember: (failures: Failures) => void
  readonly nowMs: number
  readonly metrics: JobMetrics
  readonly onAction: (action: JobSyncAction) => void
}

export async function syncJob(sync: JobSync): Promise<ReconcileResult | undefined> {
  const { job, pods, nowMs, metrics } = sync
  const podCounts = countPods(job, pods)
  const failures = failuresNow(sync, podCounts)
  const plan = planJob({ job, pods, podCounts, failures, nowMs })
  sync.onAction(actionOf(job, plan))
  const { created, removed, error, failedCreations } = await changePods({ ...sync, plan })
  metrics.podsCreated(job, {
    succeeded: created,
    failed: failedCreations,
    failedPods: podCounts.failed,
    terminatingPods: pods.filter(isTerminating).length,
  })
  const activeLeft = podCounts.active.length - removed.length + created
  const outcome = plan.outcome ?? findCompletion(job, podCounts, activeLeft)
  const { isFinalizerRemoved } = plan
  const isPartial = await track(
    sync,
    { job, pods, podCounts, outcome, created, removed, isFinalizerRemoved, nowMs },
    failures,
  )
  if (error !== undefined) throw error
  const requeueAfterMs = isPartial ? 0 : plan.requeueAfterMs
  return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
}

/** A finishing job is only reconciled. */
function actionOf(job: Job, { outcome, remove, create }: JobPlan): JobSyncAction {
  if (outcome !== undefined || isBeingDeleted(job)) return 'reconciling'
  if (remove.length > 0) return 'pods_deleted'
  return create.length > 0 ? 'pods_created' : 'tracking'
}

/** After a restart the failures are reconstructed from the existing pods, including counted ones. */
function failuresNow({ job, pods, failures }: JobSync, podCounts: PodCounts): Failures {
  if (failures)
    return addFinished(failures, { succeeded: podCounts.newlySucceeded, failed: podCounts.newlyFailed })
  return addFinished(noFailures, {
    succeeded: pods.filter(pod => pod.status?.phase === 'Succeeded'),
    failed: pods.filter(pod => hasFailed(pod, job)),
  })
}

/** Returns true if more pods remain to be counted than one reconcile handles. */
async function track(sync: JobSync, world: TrackingWorld, failures: Failures): Promise<boolean> {
  const { client } = sync
  const tracking = planUncountedPods(world)
  const tracked = await writeStatus(client, world.job, tracking.status)
  sync.remember(failures)
  recordSuspension(sync, tracked)
  const released = new Set<string>()
  const results = await Promise.allSettled(
    tracking.release.map(async pod => {
      if (await removeTrackingFinalizer(client, pod)) released.add(pod.metadata.uid)
    }),
  )
  const { status, finished } = planFlushUncounted(world, tracking, released)
  const counted = await writeStatus(client, tracked, status)
  measureCounted(sync, counted, tracking.release)
  if (finished && world.outcome) {
    recordOutcome(sync, counted, world.outcome)
    sync.metrics.finished(counted, world.outcome)
  }
  const failed = results.find(result => result.status === 'rejected')
  if (failed) throw failed.reason
  return tracking.isPartial
}

function measureCounted({ job, metrics }: JobSync, counted: Job, released: readonly Stored<Pod>[]): void {
  metrics.counted(job, counted)
  const policy = job.spec?.podFailurePolicy
  if (policy === undefined) return
  for (const pod of released) {
    if (!hasFailed(pod, job)) continue
    const { action, message } = matchPodFailurePolicy(policy, pod)
    // Without a message no rule matched.
    if (message !== '') metrics.failureHandled(action)
  }
}

/** Returns the updated job; writes only if the status changes. */
async function writeStatus(client: Client, job: Job, status: JobStatus): Promise<Job> {
  return status === job.status ? job : client.updateStatus(jobs, { ...job, status })
}

function recordSuspension({ job: before, recorder }: JobSync, after: Job): void {
  const isSuspended = isTrue(after.status?.conditions, 'Suspended')
  if (isSuspended === isTrue(before.status?.conditions, 'Suspended')) return
  const [reason, message] = isSuspended ? ['Suspended', 'Job suspended'] : ['Resumed', 'Job resumed']
  recorder.record(after, { type: 'Normal', reason, message })
}

function recordOutcome({ recorder }: JobSync, job: Job, { result, reason, message }: JobOutcome): void {
  if (result === 'failure') {
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
