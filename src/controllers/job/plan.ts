import type { Job } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { firstPendingIndexes, indexRangesOf, mergeIndexRanges } from '#/api/text/index-ranges.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { rankForDeletion } from '../shared/rank-for-deletion.ts'
import { failuresOfIndex, remainingBackoffMs, type Failures } from './backoff.ts'
import { indexesIn, type PodCounts } from './pod-counts.ts'
import { findOutcome, remainingActiveDeadlineMs, type JobOutcome } from './outcome.ts'
import { completionIndexOf, isCountable, isIndexed, onlyReplaceFailedPods } from './tracked-pods.ts'

export interface JobPlan {
  /** Undefined unless the job finishes. */
  readonly outcome: JobOutcome | undefined
  readonly create: readonly PodToCreate[]
  readonly remove: readonly Stored<Pod>[]
  /**
   * True if the finalizer of deleted pods is removed first, so that they are not counted: they are surplus
   * and have not failed.
   */
  readonly isFinalizerRemoved: boolean
  /** Delay until a deadline or backoff ends; undefined if neither is pending. */
  readonly requeueAfterMs: number | undefined
}

export interface PodToCreate {
  /** Only for an indexed job. */
  readonly index?: number
  /** The failed pod of the same index that this one replaces, with `backoffLimitPerIndex`. */
  readonly replaces?: Stored<Pod>
}

export interface JobWorld {
  readonly job: Job
  /** All pods that the job controls. */
  readonly pods: readonly Stored<Pod>[]
  readonly podCounts: PodCounts
  readonly failures: Failures
  readonly nowMs: number
}

/** Maximum number of pods created or deleted by one reconcile; the next one continues. */
const maxPodCreateDeletePerSync = 500

/** Creates or deletes pods to reach the wanted parallelism; deletes all active pods when the job finishes. */
export function planJob(world: JobWorld): JobPlan {
  const { job, podCounts, nowMs } = world
  const outcome = findOutcome(world)
  const requeueAfterMs = outcome ? undefined : remainingActiveDeadlineMs(job, nowMs)
  const plan = { outcome, create: [], remove: [], isFinalizerRemoved: false, requeueAfterMs }
  if (outcome) return { ...plan, remove: podCounts.active.slice(0, maxPodCreateDeletePerSync) }
  if (isBeingDeleted(job)) return plan
  const remove = surplusPods(world)
  // Never delete and create in one reconcile: which pod of an index remains is known only after the others
  // are gone.
  if (remove.length > 0)
    return { ...plan, remove: remove.slice(0, maxPodCreateDeletePerSync), isFinalizerRemoved: true }
  const { create, waitMs } = missingPods(world)
  return { ...plan, create, requeueAfterMs: earliest(requeueAfterMs, waitMs) }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

function wantedActive({ job, podCounts }: JobWorld): number {
  const { completions, parallelism = 1, suspend = false } = job.spec ?? {}
  if (suspend) return 0
  if (completions !== undefined) return Math.max(0, Math.min(parallelism, completions - podCounts.succeeded))
  // After the first success, running pods may finish but no new ones are started.
  return podCounts.succeeded > 0 ? podCounts.active.length : parallelism
}

/** Active pods beyond the wanted parallelism, and those with an invalid or duplicate index. */
function surplusPods(world: JobWorld): readonly Stored<Pod>[] {
  const { job, podCounts, nowMs } = world
  const surplus = podCounts.active.length - wantedActive(world)
  if (surplus <= 0 && !hasMisfits(world)) return []
  const ranked = rankForDeletion(podCounts.active, { related: [], nowMs })
  const misfits = new Set(isIndexed(job) ? misfitPods(ranked, job.spec?.completions ?? 0) : [])
  const others = ranked.filter(pod => !misfits.has(pod))
  return [...misfits, ...others.slice(0, Math.max(0, surplus - misfits.size))]
}

function hasMisfits({ job, podCounts }: JobWorld): boolean {
  if (!isIndexed(job)) return false
  return (
    new Set(indexesIn(podCounts.active.filter(pod => isCountable(pod, job)))).size < podCounts.active.length
  )
}

/** Of several pods with the same index, the highest-ranked one is kept. */
function misfitPods(ranked: readonly Stored<Pod>[], completions: number): readonly Stored<Pod>[] {
  const kept = new Map<number, Pod>()
  for (const pod of ranked) {
    const index = completionIndexOf(pod)
    if (index !== undefined && index < completions) kept.set(index, pod)
  }
  return ranked.filter(pod => kept.get(completionIndexOf(pod) ?? -1) !== pod)
}

interface MissingPods {
  readonly create: readonly PodToCreate[]
  /** Time until more may be created. */
  readonly waitMs: number | undefined
}

function missingPods(world: JobWorld): MissingPods {
  const { job, podCounts, failures, nowMs } = world
  const occupied = podCounts.active.length + (onlyReplaceFailedPods(job) ? podCounts.terminating.length : 0)
  const missing = Math.min(maxPodCreateDeletePerSync, wantedActive(world) - occupied)
  if (missing <= 0) return { create: [], waitMs: undefined }
  if (podCounts.failedIndexes !== undefined) return missingByIndex(world, missing)
  const waitMs = remainingBackoffMs(failures, nowMs)
  if (waitMs > 0) return { create: [], waitMs }
  const create = isIndexed(job)
    ? freeIndexes(world, missing).map(index => ({ index }))
    : Array.from({ length: missing }, () => ({}))
  return { create, waitMs: undefined }
}

/** With `backoffLimitPerIndex` each index has its own backoff. */
function missingByIndex(world: JobWorld, missing: number): MissingPods {
  const { podCounts, nowMs } = world
  const create: PodToCreate[] = []
  let waitMs: number | undefined
  for (const index of freeIndexes(world, missing)) {
    const replaces = podCounts.toReplace.get(index)
    const remainingMs = remainingBackoffMs(failuresOfIndex(replaces), nowMs)
    if (remainingMs > 0) waitMs = earliest(waitMs, remainingMs)
    else create.push({ index, ...(replaces && { replaces }) })
  }
  return { create, waitMs }
}

function freeIndexes({ job, podCounts }: JobWorld, limit: number): readonly number[] {
  const { active, terminating, succeededIndexes, failedIndexes = [] } = podCounts
  const occupied = onlyReplaceFailedPods(job) ? [...active, ...terminating] : active
  const taken = mergeIndexRanges(succeededIndexes, failedIndexes, indexRangesOf(indexesIn(occupied)))
  return firstPendingIndexes(taken, { below: job.spec?.completions ?? 0, limit })
}
