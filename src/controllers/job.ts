/**
 * Jobs run pods until enough have succeeded or too many have failed. Decisions are in `job/plan.ts`; counting
 * every pod exactly once is in `job/tracking.ts`.
 * https://kubernetes.io/docs/concepts/workloads/controllers/job/
 */
import { jobs } from '#/api/generated/batch/v1-resources.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { controllerOf, formatKey, isBeingDeleted, keyOf } from '#/api/metadata.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Informer } from '#/client/informer.ts'
import { claimObjects } from './shared/controller-ref.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { isJobFinished } from './shared/finished-jobs.ts'
import type { Failures } from './job/backoff.ts'
import { removeTrackingFinalizer } from './job/change-pods.ts'
import { JobMetrics, type JobSyncAction } from './job/job-metrics.ts'
import { syncJob } from './job/sync-job.ts'
import { hasJobTrackingFinalizer, trackingFinalizer } from './job/tracked-pods.ts'
import { isPodTerminal } from './pods.ts'
import { enqueueForOwner, orphanIndex, controllerRefIndex } from './shared/controller-ref-index.ts'

export const jobController: Controller = {
  name: 'job-controller',
  queueName: 'job',
  account: 'job-controller',
  setUp,
}

function setUp(context: ControllerContext): Reconcile {
  const { platform, recorder, informer } = context
  const { clock } = platform
  const allJobs = informer(jobs)
  const allPods = informer(pods)
  const owned = controllerRefIndex(allPods)
  const orphans = orphanIndex(allPods)
  /** By job uid, until the job finishes. */
  const failuresOf = new Map<string, Failures>()
  /** Start of the last reconcile, by key. */
  const syncedAtMs = new Map<string, number>()
  const metrics = new JobMetrics(context.metrics)
  enqueueOnChange({ ...context, allJobs, allPods, syncedAtMs })
  measureEvents({ allJobs, allPods, metrics })
  allJobs.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject !== undefined && !isJobFinished(newObject)) return
    failuresOf.delete((newObject ?? oldObject)?.metadata.uid)
    syncedAtMs.delete(key)
  })

  return async ({ key, client }) => {
    if (key.startsWith(orphanPrefix)) {
      const pod = allPods.get(key.slice(orphanPrefix.length))
      // With a resourceVersion precondition: the pod may have been adopted meanwhile.
      if (pod && hasJobTrackingFinalizer(pod) && isOrphan(pod, allJobs))
        await removeTrackingFinalizer(client, pod, { resourceVersion: pod.metadata.resourceVersion })
      return undefined
    }
    const job = allJobs.get(key)
    if (job === undefined || isJobFinished(job) || isManagedElsewhere(job)) return undefined
    const startMs = clock.monotonicMs()
    syncedAtMs.set(key, startMs)
    let action: JobSyncAction = 'reconciling'
    const synced = (isFailed: boolean): void =>
      metrics.synced(job, { isFailed, action, durationMs: clock.monotonicMs() - startMs })
    const { uid, namespace = '' } = job.metadata
    try {
      const claimed = await claimObjects({
        client,
        owner: job,
        ownerResource: jobs,
        resource: pods,
        selector: compileLabelSelector(job.spec?.selector),
        candidates: [...owned.get(uid), ...orphans.get(namespace)],
        finalizer: trackingFinalizer,
      })
      const result = await syncJob({
        job,
        pods: claimed,
        client,
        recorder,
        failures: failuresOf.get(uid),
        remember: failures => void failuresOf.set(uid, failures),
        nowMs: clock.now(),
        metrics,
        onAction: planned => void (action = planned),
      })
      synced(false)
      return result
    } catch (error) {
      synced(true)
      throw error
    }
  }
}

function measureEvents(world: MeasuredWorld): void {
  const { allJobs, allPods, metrics } = world
  allJobs.addEventHandler((_key, { oldObject, newObject }) => {
    if (oldObject === undefined && newObject !== undefined && isManagedElsewhere(newObject))
      metrics.managedElsewhere(newObject.spec?.managedBy ?? '')
  })
  const isTracked = (pod: Pod | undefined): boolean =>
    pod !== undefined && isPodTerminal(pod) && hasJobTrackingFinalizer(pod)
  allPods.addEventHandler((_key, { oldObject, newObject }) => {
    if (isTracked(oldObject) === isTracked(newObject)) return
    metrics.trackingFinalizer(isTracked(newObject) ? 'add' : 'delete')
  })
}

interface MeasuredWorld {
  readonly allJobs: Informer<Job>
  readonly allPods: Informer<Pod>
  readonly metrics: JobMetrics
}

/** Prefix of keys of orphaned pods that must only lose their finalizer. */
const orphanPrefix = 'orphan/'

/**
 * Minimum interval between reconciles triggered by pods, so that the status is not written for each of a
 * thousand pods.
 */
const syncJobBatchPeriodMs = 1_000

interface EventHandlersWorld extends Pick<ControllerContext, 'platform' | 'enqueue'> {
  readonly allJobs: Informer<Job>
  readonly allPods: Informer<Pod>
  readonly syncedAtMs: ReadonlyMap<string, number>
}

function enqueueOnChange({ platform, enqueue, allJobs, allPods, syncedAtMs }: EventHandlersWorld): void {
  const owned = controllerRefIndex(allPods)
  const enqueueSoon = (key: string): void => {
    const lastMs = syncedAtMs.get(key) ?? -Infinity
    enqueue(key, Math.max(0, lastMs + syncJobBatchPeriodMs - platform.clock.monotonicMs()))
  }
  allJobs.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject === undefined || isJobFinished(newObject)) {
      for (const pod of owned.get((newObject ?? oldObject)?.metadata.uid))
        if (hasJobTrackingFinalizer(pod)) enqueue(orphanPrefix + keyOf(pod))
    } else if (isImmediate(oldObject, newObject)) enqueue(key)
    else enqueueSoon(key)
  })
  enqueueForOwner(allPods, jobs, enqueueSoon)
  allPods.addEventHandler((key, { newObject }) => {
    if (newObject === undefined) return
    if (hasJobTrackingFinalizer(newObject) && isOrphan(newObject, allJobs)) enqueue(orphanPrefix + key)
    if (controllerOf(newObject) !== undefined) return
    for (const job of allJobs.inNamespace(newObject.metadata.namespace ?? '')) {
      if (!isJobFinished(job) && compileLabelSelector(job.spec?.selector).matches(newObject.metadata.labels))
        enqueueSoon(keyOf(job))
    }
  })
}

/** True if the spec or the deletion state changed; such changes are reconciled without delay. */
function isImmediate(before: Job | undefined, after: Job): boolean {
  if (before === undefined) return true
  return (
    before.metadata.generation !== after.metadata.generation ||
    isBeingDeleted(before) !== isBeingDeleted(after)
  )
}

/** True if no job will ever count the pod. */
function isOrphan(pod: Pod, allJobs: Informer<Job>): boolean {
  const owner = controllerOf(pod)
  if (owner === undefined) return true
  if (owner.kind !== 'Job' || !owner.apiVersion.startsWith('batch/')) return false
  const job = allJobs.get(formatKey({ namespace: pod.metadata.namespace ?? '', name: owner.name }))
  if (job === undefined || job.metadata.uid !== owner.uid) return true
  return isJobFinished(job) && !isManagedElsewhere(job)
}

/** `spec.managedBy` names another controller. */
function isManagedElsewhere({ spec }: Job): boolean {
  return spec?.managedBy !== undefined && spec.managedBy !== 'kubernetes.io/job-controller'
}
