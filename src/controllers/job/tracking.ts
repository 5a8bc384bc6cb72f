/**
 * Counts every pod exactly once, even if interrupted between any two writes: first finished pods are listed
 * in `uncountedTerminatedPods`, then their finalizers are removed, then listed pods without a finalizer are
 * counted and dropped from the list. An interrupted reconcile is continued from the list.
 */
import { conditionOf, isTrue, withCondition } from '#/api/conditions.ts'
import { equalJson } from '#/api/json-value.ts'
import type { Job, JobCondition, JobStatus } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { countIndexes, formatIndexRanges } from '#/api/index-ranges.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { formatTime } from '#/api/time.ts'
import { isPodReady } from '../pods.ts'
import type { Census } from './census.ts'
import type { End } from './end.ts'
import { judgeFailure } from './failure-policy.ts'
import {
  completionIndexOf,
  hasFailed,
  isCountable,
  isIndexed,
  isTerminating,
  isTracked,
} from './tracked-pods.ts'

export interface TrackingWorld {
  readonly job: Job
  /** All pods that the job controls, before the reconcile's writes. */
  readonly pods: readonly Pod[]
  readonly census: Census
  readonly end: End | undefined
  readonly created: number
  readonly removed: readonly Pod[]
  /** True if the deleted pods have lost their finalizer and must not be counted. */
  readonly isUncounted: boolean
  readonly nowMs: number
}

export interface Tracking {
  /** The status with `uncountedTerminatedPods`; identical to the job's status if nothing changes. */
  readonly status: JobStatus
  /** Pods to remove the finalizer from after that status is written. */
  readonly release: readonly Pod[]
  /** True if there are more than one reconcile handles. */
  readonly isPartial: boolean
}

/** Maximum size of `uncountedTerminatedPods`, to keep the status small. */
const uncountedMax = 500

export function planTracking(world: TrackingWorld): Tracking {
  const { job, census } = world
  const { status: before = {} } = job
  const counts = withoutReleased(countsOf(before), trackedUids(world))
  const { named, release, isPartial } = nameEnded(world, counts)
  const status: JobStatus = {
    ...lifeOf(world),
    ...presentCounts(world),
    ...statusCounts(named),
    ...(isIndexed(job) && {
      succeeded: countIndexes(census.succeededIndexes),
      completedIndexes: formatIndexRanges(census.succeededIndexes),
    }),
    ...(census.failedIndexes && { failedIndexes: formatIndexRanges(census.failedIndexes) }),
  }
  return { status: unlessSame(before, status), release, isPartial }
}

/**
 * The status after the finalizers have been removed; with the Complete or Failed condition once nothing is
 * left to wait for.
 */
export function planCounted(
  world: TrackingWorld,
  { status, isPartial }: Tracking,
  released: ReadonlySet<string>,
): { readonly status: JobStatus; readonly finished: JobCondition | undefined } {
  const left = new Set([...trackedUids(world)].filter(uid => !released.has(uid)))
  const counts = withoutReleased(countsOf(status), left)
  const next = { ...status, ...statusCounts(counts) }
  const { end, nowMs } = world
  const isQuiet = (status.active ?? 0) === 0 && (status.terminating ?? 0) === 0
  const isUncounted = counts.uncountedSucceeded.length + counts.uncountedFailed.length > 0
  if (end === undefined || isPartial || !isQuiet || isUncounted) {
    return { status: unlessSame(status, next), finished: undefined }
  }
  const finished = conditionAt(nowMs, { ...end, type: end.outcome === 'success' ? 'Complete' : 'Failed' })
  const final = {
    ...next,
    conditions: withCondition(next.conditions, finished),
    ...(end.outcome === 'success' && { completionTime: formatTime(nowMs) }),
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

function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? ''
}

function trackedUids({ pods, removed, isUncounted }: TrackingWorld): ReadonlySet<string> {
  const dismissed = new Set(isUncounted ? removed.map(uidOf) : [])
  return new Set(
    pods
      .filter(isTracked)
      .map(uidOf)
      .filter(uid => !dismissed.has(uid)),
  )
}

interface Named extends Omit<Tracking, 'status'> {
  readonly named: Counts
}

function nameEnded(world: TrackingWorld, counts: Counts): Named {
  const tracked = trackedUids(world)
  const removed = new Set(world.removed)
  const ended = world.pods.filter(
    pod => tracked.has(uidOf(pod)) && isReleasable(world, pod, removed.has(pod)),
  )
  const known = new Set([...counts.uncountedSucceeded, ...counts.uncountedFailed])
  const uncountedSucceeded = [...counts.uncountedSucceeded]
  const uncountedFailed = [...counts.uncountedFailed]
  const release: Pod[] = []
  for (const pod of inOrderOfIndex(ended)) {
    if (release.length >= uncountedMax || uncountedSucceeded.length + uncountedFailed.length >= uncountedMax)
      break
    release.push(pod)
    const uid = uidOf(pod)
    if (known.has(uid)) continue
    if (pod.status?.phase === 'Succeeded') {
      // In an indexed job `completedIndexes` already prevents double counting.
      if (!isIndexed(world.job)) uncountedSucceeded.push(uid)
    } else if (isCountedAsFailed(world, pod, removed.has(pod))) uncountedFailed.push(uid)
  }
  const named = { ...counts, uncountedSucceeded, uncountedFailed }
  return { named, release, isPartial: release.length < ended.length }
}

function inOrderOfIndex(pods: readonly Pod[]): readonly Pod[] {
  return pods
    .map(pod => ({ pod, index: completionIndexOf(pod) ?? -1 }))
    .toSorted((left, right) => left.index - right.index)
    .map(({ pod }) => pod)
}

function isReleasable({ job, census, end }: TrackingWorld, pod: Pod, wasRemoved: boolean): boolean {
  if (isBeingDeleted(job) || pod.status?.phase === 'Succeeded') return true
  if (end && (wasRemoved || isTerminating(pod))) return true
  if (!hasFailed(pod, job)) return false
  return end !== undefined || census.toReplace.get(completionIndexOf(pod) ?? -1) !== pod
}

/** When a job fails, its active pods count as failed. */
function isCountedAsFailed({ job, end }: TrackingWorld, pod: Pod, wasRemoved: boolean): boolean {
  const isLost = end?.outcome === 'failure' && (wasRemoved || isTerminating(pod))
  if (!isLost && !hasFailed(pod, job)) return false
  return isCountable(pod, job) && judgeFailure(job.spec?.podFailurePolicy, pod).action !== 'Ignore'
}

function presentCounts({ census, created, removed }: TrackingWorld): JobStatus {
  const gone = new Set(removed)
  const left = census.active.filter(pod => !gone.has(pod))
  return {
    active: left.length + created,
    ready: left.filter(isPodReady).length,
    terminating: census.terminating.length + census.active.length - left.length,
  }
}

/** `startTime` and the conditions. */
function lifeOf({ job, end, nowMs }: TrackingWorld): JobStatus {
  const { conditions, startTime } = job.status ?? {}
  const isSuspended = job.spec?.suspend === true
  const now = formatTime(nowMs)
  const since = startTime ?? (isSuspended ? undefined : now)
  if (end) {
    const type = end.outcome === 'success' ? 'SuccessCriteriaMet' : 'FailureTarget'
    const next = isTrue(conditions, type)
      ? conditions
      : withCondition(conditions, conditionAt(nowMs, { ...end, type }))
    return life(since, next)
  }
  if (isBeingDeleted(job)) return life(since, conditions)
  const before = conditionOf(conditions, 'Suspended')
  if (isSuspended === (before?.status === 'True')) return life(since, conditions)
  const condition = isSuspended
    ? conditionAt(nowMs, { type: 'Suspended', reason: 'JobSuspended', message: 'Job suspended' })
    : { ...conditionAt(nowMs, { type: 'Suspended', ...resumed }), status: 'False' }
  // Suspending clears `startTime` and resuming resets it, which restarts `activeDeadlineSeconds`.
  return life(isSuspended ? undefined : now, withCondition(conditions, condition))
}

const resumed = { reason: 'JobResumed', message: 'Job resumed' }

function life(startTime: string | undefined, conditions: readonly JobCondition[] | undefined): JobStatus {
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
