/** The states of a job's pods: those already counted in the status, and those not yet counted. */
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import {
  countIndexes,
  hasIndex,
  indexRangesOf,
  readIndexRanges,
  mergeIndexRanges,
  type IndexRange,
} from '#/api/text/index-ranges.ts'
import { isPodActive } from '../pods.ts'
import { failuresOfIndex } from './backoff.ts'
import { matchPodFailurePolicy } from './failure-policy.ts'
import {
  completionIndexOf,
  failuresBefore,
  hasFailed,
  isCountable,
  isIndexed,
  isTerminating,
  hasJobTrackingFinalizer,
} from './tracked-pods.ts'

export interface PodCounts {
  readonly active: readonly Stored<Pod>[]
  readonly terminating: readonly Pod[]
  /** Finished pods that are not in the status yet. */
  readonly newlySucceeded: readonly Stored<Pod>[]
  readonly newlyFailed: readonly Stored<Pod>[]
  /** Number of pods, or of indexes for an indexed job. */
  readonly succeeded: number
  readonly failed: number
  /** Empty unless the job is indexed. */
  readonly succeededIndexes: readonly IndexRange[]
  /** Undefined unless the job has `backoffLimitPerIndex`. */
  readonly failedIndexes: readonly IndexRange[] | undefined
  /**
   * The last failed pod of each index that is retried. It keeps its finalizer until its replacement exists,
   * which inherits its failure count.
   */
  readonly toReplace: ReadonlyMap<number, Stored<Pod>>
}

export function countPods(job: Job, pods: readonly Stored<Pod>[]): PodCounts {
  const { spec, status = {} } = job
  const active = pods.filter(isPodActive)
  const succeededBefore = new Set(status.uncountedTerminatedPods?.succeeded ?? [])
  const failedBefore = new Set(status.uncountedTerminatedPods?.failed ?? [])
  const countable = pods.filter(pod => hasJobTrackingFinalizer(pod) && isCountable(pod, job))
  const isSucceeded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded'
  const newlySucceeded = countable.filter(pod => isSucceeded(pod) && !succeededBefore.has(pod.metadata.uid))
  const newlyFailed = countable.filter(pod => hasFailed(pod, job) && !failedBefore.has(pod.metadata.uid))
  const countedFailures = newlyFailed.filter(pod => {
    return matchPodFailurePolicy(spec?.podFailurePolicy, pod).action !== 'Ignore'
  })
  const indexes = indexesOf(job, countable)
  return {
    active,
    terminating: pods.filter(isTerminating),
    newlySucceeded,
    newlyFailed,
    succeeded: isIndexed(job)
      ? countIndexes(indexes.succeededIndexes)
      : (status.succeeded ?? 0) + newlySucceeded.length + succeededBefore.size,
    failed: (status.failed ?? 0) + countedFailures.length + failedBefore.size,
    ...indexes,
    toReplace: podsToReplace(job, { countable, active, ...indexes }),
  }
}

type Indexes = Pick<PodCounts, 'succeededIndexes' | 'failedIndexes'>

function indexesOf(job: Job, countable: readonly Stored<Pod>[]): Indexes {
  if (!isIndexed(job)) return { succeededIndexes: [], failedIndexes: undefined }
  const { spec, status } = job
  const completions = spec?.completions ?? 0
  const withNew = (
    before: string | undefined,
    isNew: (pod: Stored<Pod>) => boolean,
  ): readonly IndexRange[] => {
    const found = countable.filter(isNew).map(pod => completionIndexOf(pod)!)
    return mergeIndexRanges(readIndexRanges(before, completions), indexRangesOf(found))
  }
  return {
    succeededIndexes: withNew(status?.completedIndexes, pod => pod.status?.phase === 'Succeeded'),
    failedIndexes:
      spec?.backoffLimitPerIndex === undefined
        ? undefined
        : withNew(status?.failedIndexes, pod => hasFailedIndex(job, pod)),
  }
}

/** True if the index of the pod has failed permanently. */
function hasFailedIndex(job: Job, pod: Stored<Pod>): boolean {
  if (!hasFailed(pod, job)) return false
  const { action } = matchPodFailurePolicy(job.spec?.podFailurePolicy, pod)
  if (action === 'FailIndex') return true
  return action !== 'Ignore' && failuresBefore(pod) >= (job.spec?.backoffLimitPerIndex ?? 0)
}

interface CountedPods extends Indexes {
  readonly countable: readonly Stored<Pod>[]
  readonly active: readonly Pod[]
}

function podsToReplace(
  job: Job,
  { countable, active, succeededIndexes, failedIndexes }: CountedPods,
): ReadonlyMap<number, Stored<Pod>> {
  const last = new Map<number, Stored<Pod>>()
  if (failedIndexes === undefined) return last
  const settled = mergeIndexRanges(succeededIndexes, failedIndexes, indexRangesOf(indexesIn(active)))
  for (const pod of countable) {
    const index = completionIndexOf(pod)
    if (index === undefined || hasIndex(settled, index) || !hasFailed(pod, job)) continue
    const other = last.get(index)
    if (other === undefined || isLater(pod, other)) last.set(index, pod)
  }
  return last
}

function isLater(pod: Stored<Pod>, other: Stored<Pod>): boolean {
  const [failures, otherFailures] = [failuresOfIndex(pod), failuresOfIndex(other)]
  return failures.count >= otherFailures.count && failures.lastMs >= otherFailures.lastMs
}

export function indexesIn(pods: readonly Pod[]): readonly number[] {
  return pods.map(completionIndexOf).filter(index => index !== undefined)
}
