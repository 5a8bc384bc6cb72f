/**
 * Counts every pod exactly once, even if interrupted between any two writes: first finished pods are listed
 * in `uncountedTerminatedPods`, then their finalizers are removed, then listed pods without a finalizer are
 * counted and dropped from the list. An interrupted reconcile is continued from the list.
 */
import { conditionOf, isTrue, withCondition } from '#/api/conditions.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { Job, JobCondition, JobStatus } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { countIndexes, formatIndexRanges } from '#/api/text/index-ranges.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { isPodReady } from '../pods.ts'
import type { PodCounts } from './pod-counts.ts'
import type { JobOutcome } from './outcome.ts'
import { matchPodFailurePolicy } from './failure-policy.ts'
import {
  completionIndexOf,
  hasFailed,
  isCountable,
  isIndexed,
  isTerminating,
  hasJobTrackingFinalizer,
} from './tracked-pods.ts'

export interface TrackingWorld {
  readonly job: Job
  /** All pods that the job controls, before the reconcile's writes. */
  readonly pods: readonly Stored<Pod>[]
  readonly podCounts: PodCounts
  readonly outcome: JobOutcome | undefined
  readonly created: number
  readonly removed: readonly Stored<Pod>[]
  /** True if the deleted pods have lost their finalizer and must not be counted. */
  readonly isFinalizerRemoved: boolean
  readonly nowMs: number
}

export interface Tracking {
  /** The status with `uncountedTerminatedPods`; identical to the job's status if nothing changes. */
  readonly status: JobStatus
  /** Pods to remove the finalizer from after that status is written. */
  readonly release: readonly Stored<Pod>[]
  /** True if there are more than one reconcile handles. */
  readonly isPartial: boolean
}

/** Maximum size of `uncountedTerminatedPods`, to keep the status small. */
const uncountedMax = 500

export function planUncountedPods(world: TrackingWorld): Tracking {
  const { job, podCounts } = world
  const { status: before = {} } = job
  const flushed = withoutReleased(countsOf(before), trackedUids(world))
  const { counts, release, isPartial } = addUncounted(world, flushed)
  const status: JobStatus = {
    ...startAndConditions(world),
    ...currentCounts(world),
    ...statusCounts(counts),
    ...(isIndexed(job) && {
      succeeded: countIndexes(podCounts.succeededIndexes),
      completedIndexes: formatIndexRanges(podCounts.succeededIndexes),
    }),
    ...(podCounts.failedIndexes && { failedIndexes: formatIndexRanges(podCounts.failedIndexes) }),
  }
  return { status: unlessSame(before, status), release, isPartial }
}

/**
 * The status after the finalizers have been removed; with the Complete or Failed condition once nothing is
 * left to wait for.
 */
export function planFlushUncounted(
  world: TrackingWorld,
  { status, isPartial }: Tracking,
  released: ReadonlySet<string>,
): { readonly status: JobStatus; readonly finished: JobCondition | undefined } {
  const left = new Set([...trackedUids(world)].filter(uid => !released.has(uid)))
  const counts = withoutReleased(countsOf(status), left)
  const next = { ...status, ...statusCounts(counts) }
  const { outcome, nowMs } = world
  const isQuiet = (status.active ?? 0) === 0 && (status.terminating ?? 0) === 0
  const hasUncounted = counts.uncountedSucceeded.length + counts.uncountedFailed.length > 0
  if (outcome === undefined || isPartial || !isQuiet || hasUncounted) {
    return { status: unlessSame(status, next), finished: undefined }
  }
  const finished = conditionAt(nowMs, {
    ...outcome,
    type: outcome.result === 'success' ? 'Complete' : 'Failed',
  })
  const final = {
    ...next,
    conditions: withCondition(next.conditions, finished),
    ...(outcome.result === 'success' && { completionTime: formatTime(nowMs) }),
  }
  return { status: unlessSame(status, final), finished }
}

interface Counts {
  readonly succeeded: number
  readonly failed: number
  /** The uids in `uncountedTerminatedPods`. */
  readonly uncountedSucceeded: readonly string[]
  readonly uncountedFailed: readonly string[]
}

function countsOf({ succeeded = 0, failed = 0, uncountedTerminatedPods: uncounted }: JobStatus): Counts {
  const { succeeded: uncountedSucceeded = [], failed: uncountedFailed = [] } = uncounted ?? {}
  return { succeeded, failed, uncountedSucceeded, uncountedFailed }
}

function statusCounts({ succeeded, failed, uncountedSucceeded, uncountedFailed }: Counts): JobStatus {
  return {
    succeeded,
    failed,
    uncountedTerminatedPods: {
      ...(uncountedSucceeded.length > 0 && { succeeded: uncountedSucceeded }),
      ...(uncountedFailed.length > 0 && { failed: uncountedFailed }),
    },
  }
}

/** Counts listed pods without a finalizer and drops them from the list. */
function withoutReleased(counts: Counts, tracked: ReadonlySet<string>): Counts {
  const uncountedSucceeded = counts.uncountedSucceeded.filter(uid => tracked.has(uid))
  const uncountedFailed = counts.uncountedFailed.filter(uid => tracked.has(uid))
  return {
    succeeded: counts.succeeded + counts.uncountedSucceeded.length - uncountedSucceeded.length,
    failed: counts.failed + counts.uncountedFailed.length - uncountedFailed.length,
    uncountedSucceeded,
    uncountedFailed,
  }
}

function trackedUids({ pods, removed, isFinalizerRemoved }: TrackingWorld): ReadonlySet<string> {
  const dismissed = new Set(isFinalizerRemoved ? removed.map(pod => pod.metadata.uid) : [])
  return new Set(
    pods
      .filter(hasJobTrackingFinalizer)
      .map(pod => pod.metadata.uid)
      .filter(uid => !dismissed.has(uid)),
  )
}

interface WithUncounted extends Omit<Tracking, 'status'> {
  readonly counts: Counts
}

function addUncounted(world: TrackingWorld, counts: Counts): WithUncounted {
  const tracked = trackedUids(world)
  const removed = new Set(world.removed)
  const ended = world.pods.filter(
    pod => tracked.has(pod.metadata.uid) && isReleasable(world, pod, removed.has(pod)),
  )
  const known = new Set([...counts.uncountedSucceeded, ...counts.uncountedFailed])
  const uncountedSucceeded = [...counts.uncountedSucceeded]
  const uncountedFailed = [...counts.uncountedFailed]
  const release: Stored<Pod>[] = []
  for (const pod of inOrderOfIndex(ended)) {
    if (release.length >= uncountedMax || uncountedSucceeded.length + uncountedFailed.length >= uncountedMax)
      break
    release.push(pod)
    const uid = pod.metadata.uid
    if (known.has(uid)) continue
    if (pod.status?.phase === 'Succeeded') {
      // In an indexed job `completedIndexes` already prevents double counting.
      if (!isIndexed(world.job)) uncountedSucceeded.push(uid)
    } else if (isCountedAsFailed(world, pod, removed.has(pod))) uncountedFailed.push(uid)
  }
  return {
    counts: { ...counts, uncountedSucceeded, uncountedFailed },
    release,
    isPartial: release.length < ended.length,
  }
}

function inOrderOfIndex(pods: readonly Stored<Pod>[]): readonly Stored<Pod>[] {
  return pods
    .map(pod => ({ pod, index: completionIndexOf(pod) ?? -1 }))
    .toSorted((left, right) => left.index - right.index)
    .map(({ pod }) => pod)
}

function isReleasable({ job, podCounts, outcome }: TrackingWorld, pod: Pod, wasRemoved: boolean): boolean {
  if (isBeingDeleted(job) || pod.status?.phase === 'Succeeded') return true
  if (outcome && (wasRemoved || isTerminating(pod))) return true
  if (!hasFailed(pod, job)) return false
  return outcome !== undefined || podCounts.toReplace.get(completionIndexOf(pod) ?? -1) !== pod
}

/** When a job fails, its active pods count as failed. */
function isCountedAsFailed({ job, outcome }: TrackingWorld, pod: Stored<Pod>, wasRemoved: boolean): boolean {
  const isLost = outcome?.result === 'failure' && (wasRemoved || isTerminating(pod))
  if (!isLost && !hasFailed(pod, job)) return false
  return isCountable(pod, job) && matchPodFailurePolicy(job.spec?.podFailurePolicy, pod).action !== 'Ignore'
}

function currentCounts({ podCounts, created, removed }: TrackingWorld): JobStatus {
  const gone = new Set(removed)
  const left = podCounts.active.filter(pod => !gone.has(pod))
  return {
    active: left.length + created,
    ready: left.filter(isPodReady).length,
    terminating: podCounts.terminating.length + podCounts.active.length - left.length,
  }
}

/** `startTime` and the conditions. */
function startAndConditions({ job, outcome, nowMs }: TrackingWorld): JobStatus {
  const { conditions, startTime } = job.status ?? {}
  const isSuspended = job.spec?.suspend === true
  const now = formatTime(nowMs)
  const since = startTime ?? (isSuspended ? undefined : now)
  if (outcome) {
    const type = outcome.result === 'success' ? 'SuccessCriteriaMet' : 'FailureTarget'
    const next = isTrue(conditions, type)
      ? conditions
      : withCondition(conditions, conditionAt(nowMs, { ...outcome, type }))
    return startAndConditionsWith(since, next)
  }
  if (isBeingDeleted(job)) return startAndConditionsWith(since, conditions)
  const before = conditionOf(conditions, 'Suspended')
  if (isSuspended === (before?.status === 'True')) return startAndConditionsWith(since, conditions)
  const condition = isSuspended
    ? conditionAt(nowMs, { type: 'Suspended', reason: 'JobSuspended', message: 'Job suspended' })
    : { ...conditionAt(nowMs, { type: 'Suspended', ...resumed }), status: 'False' }
  // Suspending clears `startTime` and resuming resets it, which restarts `activeDeadlineSeconds`.
  return startAndConditionsWith(isSuspended ? undefined : now, withCondition(conditions, condition))
}

const resumed = { reason: 'JobResumed', message: 'Job resumed' }

function startAndConditionsWith(
  startTime: string | undefined,
  conditions: readonly JobCondition[] | undefined,
): JobStatus {
  return { ...(startTime && { startTime }), ...(conditions && { conditions }) }
}

function conditionAt(
  nowMs: number,
  { type, reason, message }: Pick<JobCondition, 'type' | 'reason' | 'message'>,
): JobCondition {
  const now = formatTime(nowMs)
  return { type, status: 'True', lastProbeTime: now, lastTransitionTime: now, reason, message }
}

function unlessSame(before: JobStatus, status: JobStatus): JobStatus {
  const next = withoutZeros(status)
  return equalJson(withoutZeros(before), next) ? before : next
}

/** Omits zero counts and empty strings, like `omitempty` upstream. */
function withoutZeros(status: JobStatus): JobStatus {
  const { active, succeeded, failed, completedIndexes, ...rest } = status
  return {
    ...(active && { active }),
    ...(succeeded && { succeeded }),
    ...(failed && { failed }),
    ...(completedIndexes && { completedIndexes }),
    ...rest,
  }
}
