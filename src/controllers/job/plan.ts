import type { Job } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { firstMissingIndexes, indexRangesOf, uniteIndexes } from '#/api/index-ranges.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { rankVictims } from '../replicas/victims.ts'
import { failuresOfIndex, remainingBackoffMs, type Failures } from './backoff.ts'
import { indexesIn, type Census } from './census.ts'
import { findEnd, remainingTimeMs, type End } from './end.ts'
import { completionIndexOf, isCountable, isIndexed, onlyReplacesFailed } from './tracked-pods.ts'

export interface JobPlan {
  /** Undefined unless the job finishes. */
  readonly end: End | undefined
  readonly create: readonly PodToCreate[]
  readonly remove: readonly Pod[]
  /**
   * True if the finalizer of deleted pods is removed first, so that they are not counted: they are surplus
   * and have not failed.
   */
  readonly isUncounted: boolean
  /** Delay until a deadline or backoff ends; undefined if neither is pending. */
  readonly requeueAfterMs: number | undefined
}

export interface PodToCreate {
  /** Only for an indexed job. */
  readonly index?: number
  /** The failed pod of the same index that this one replaces, with `backoffLimitPerIndex`. */
  readonly replaces?: Pod
}

export interface JobWorld {
  readonly job: Job
  /** All pods that the job controls. */
  readonly pods: readonly Pod[]
  readonly census: Census
  readonly failures: Failures
  readonly nowMs: number
}

/** Maximum number of pods created or deleted by one reconcile; the next one continues. */
const burstMax = 500

/** Creates or deletes pods to reach the wanted parallelism; deletes all active pods when the job finishes. */
export function planJob(world: JobWorld): JobPlan {
  const { job, census, nowMs } = world
  const end = findEnd(world)
  const requeueAfterMs = end ? undefined : remainingTimeMs(job, nowMs)
  const plan = { end, create: [], remove: [], isUncounted: false, requeueAfterMs }
  if (end) return { ...plan, remove: census.active.slice(0, burstMax) }
  if (isBeingDeleted(job)) return plan
  const remove = surplusPods(world)
  // Never delete and create in one reconcile: which pod of an index remains is known only after the others
  // are gone.
  if (remove.length > 0) return { ...plan, remove: remove.slice(0, burstMax), isUncounted: true }
  const { create, waitMs } = missingPods(world)
  return { ...plan, create, requeueAfterMs: earliest(requeueAfterMs, waitMs) }
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b)
}

function wantedActive({ job, census }: JobWorld): number {
  const { completions, parallelism = 1, suspend = false } = job.spec ?? {}
  if (suspend) return 0
  if (completions !== undefined) return Math.max(0, Math.min(parallelism, completions - census.succeeded))
  // After the first success, running pods may finish but no new ones are started.
  return census.succeeded > 0 ? census.active.length : parallelism
}

/** Active pods beyond the wanted parallelism, and those with an invalid or duplicate index. */
function surplusPods(world: JobWorld): readonly Pod[] {
  const { job, census, nowMs } = world
  const surplus = census.active.length - wantedActive(world)
  if (surplus <= 0 && !hasMisfits(world)) return []
  const ranked = rankVictims(census.active, { related: [], nowMs })
  const misfits = new Set(isIndexed(job) ? misfitPods(ranked, job.spec?.completions ?? 0) : [])
  const others = ranked.filter(pod => !misfits.has(pod))
  return [...misfits, ...others.slice(0, Math.max(0, surplus - misfits.size))]
}

function hasMisfits({ job, census }: JobWorld): boolean {
  if (!isIndexed(job)) return false
  return new Set(indexesIn(census.active.filter(pod => isCountable(pod, job)))).size < census.active.length
}

/** Of several pods with the same index, the highest-ranked one is kept. */
function misfitPods(ranked: readonly Pod[], completions: number): readonly Pod[] {
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
  const { job, census, failures, nowMs } = world
  const occupied = census.active.length + (onlyReplacesFailed(job) ? census.terminating.length : 0)
  const missing = Math.min(burstMax, wantedActive(world) - occupied)
  if (missing <= 0) return { create: [], waitMs: undefined }
  if (census.failedIndexes !== undefined) return missingByIndex(world, missing)
  const waitMs = remainingBackoffMs(failures, nowMs)
  if (waitMs > 0) return { create: [], waitMs }
  const create = isIndexed(job)
    ? freeIndexes(world, missing).map(index => ({ index }))
    : Array.from({ length: missing }, () => ({}))
  return { create, waitMs: undefined }
}

/** With `backoffLimitPerIndex` each index has its own backoff. */
function missingByIndex(world: JobWorld, missing: number): MissingPods {
  const { census, nowMs } = world
  const create: PodToCreate[] = []
  let waitMs: number | undefined
  for (const index of freeIndexes(world, missing)) {
    const replaces = census.toReplace.get(index)
    const remainingMs = remainingBackoffMs(failuresOfIndex(replaces), nowMs)
    if (remainingMs > 0) waitMs = earliest(waitMs, remainingMs)
    else create.push({ index, ...(replaces && { replaces }) })
  }
  return { create, waitMs }
}

function freeIndexes({ job, census }: JobWorld, limit: number): readonly number[] {
  const { active, terminating, succeededIndexes, failedIndexes = [] } = census
  const occupied = onlyReplacesFailed(job) ? [...active, ...terminating] : active
  const taken = uniteIndexes(succeededIndexes, failedIndexes, indexRangesOf(indexesIn(occupied)))
  return firstMissingIndexes(taken, { below: job.spec?.completions ?? 0, limit })
}
