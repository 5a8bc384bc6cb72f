/** Decides whether a job has finished, and why. The first outcome recorded in the status is final. */
import { conditionOf } from '#/api/conditions.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { countIndexes, countIntersection, readIndexRanges, type IndexRange } from '#/api/text/index-ranges.ts'
import { parseTime } from '#/api/text/time.ts'
import type { PodCounts } from './pod-counts.ts'
import { matchPodFailurePolicy } from './failure-policy.ts'
import { hasFailed } from './tracked-pods.ts'

export interface JobOutcome {
  readonly result: 'success' | 'failure'
  readonly reason: string
  readonly message: string
}

export interface OutcomeWorld {
  readonly job: Job
  readonly pods: readonly Stored<Pod>[]
  readonly podCounts: PodCounts
  readonly nowMs: number
}

/** Undefined while the job is running. Failure takes precedence over success. */
export function findOutcome(world: OutcomeWorld): JobOutcome | undefined {
  return (
    recordedOutcome(world) ??
    policyFailure(world) ??
    limitFailure(world) ??
    deadlineFailure(world) ??
    indexFailure(world) ??
    policySuccess(world)
  )
}

/** The required completions are reached and no pod is active. */
export function findCompletion(
  { spec }: Job,
  podCounts: PodCounts,
  activeLeft: number,
): JobOutcome | undefined {
  const isEnough = podCounts.succeeded >= (spec?.completions ?? 1)
  if (!isEnough || activeLeft > 0) return undefined
  return {
    result: 'success',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  }
}

/** Time until `activeDeadlineSeconds` is exceeded; undefined without a deadline. */
export function remainingActiveDeadlineMs({ spec, status }: Job, nowMs: number): number | undefined {
  if (spec?.activeDeadlineSeconds === undefined || spec.suspend === true) return undefined
  const startMs = parseTime(status?.startTime ?? '') ?? nowMs
  return startMs + Number(spec.activeDeadlineSeconds) * 1_000 - nowMs
}

function recordedOutcome({ job }: OutcomeWorld): JobOutcome | undefined {
  const results = { SuccessCriteriaMet: 'success', FailureTarget: 'failure' } as const
  for (const [type, result] of Object.entries(results)) {
    const { status, reason = '', message = '' } = conditionOf(job.status?.conditions, type) ?? {}
    if (status === 'True') return { result, reason, message }
  }
  return undefined
}

function policyFailure({ job, pods }: OutcomeWorld): JobOutcome | undefined {
  const policy = job.spec?.podFailurePolicy
  if (policy === undefined) return undefined
  for (const pod of pods) {
    if (!hasFailed(pod, job)) continue
    const { action, message } = matchPodFailurePolicy(policy, pod)
    if (action === 'FailJob') return failure('PodFailurePolicy', message)
  }
  return undefined
}

function limitFailure({ job, pods, podCounts }: OutcomeWorld): JobOutcome | undefined {
  const { backoffLimit = 6, template } = job.spec ?? {}
  const restarts = template?.spec?.restartPolicy === 'OnFailure' ? countRestarts(pods) : 0
  const isPast = podCounts.failed > backoffLimit || restarts >= Math.max(backoffLimit, 1)
  return isPast ? failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit') : undefined
}

/** With restartPolicy OnFailure pods do not fail; container restarts are counted instead. */
function countRestarts(pods: readonly Pod[]): number {
  let restarts = 0
  for (const { status } of pods) {
    if (status?.phase !== 'Running' && status?.phase !== 'Pending') continue
    for (const container of [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])])
      restarts += container.restartCount ?? 0
  }
  return restarts
}

function deadlineFailure({ job, nowMs }: OutcomeWorld): JobOutcome | undefined {
  if (job.status?.startTime === undefined) return undefined
  const remainingMs = remainingActiveDeadlineMs(job, nowMs)
  if (remainingMs === undefined || remainingMs > 0) return undefined
  return failure('DeadlineExceeded', 'Job was active longer than specified deadline')
}

function indexFailure({ job, podCounts }: OutcomeWorld): JobOutcome | undefined {
  const { completions = 0, maxFailedIndexes = Infinity } = job.spec ?? {}
  const failed = countIndexes(podCounts.failedIndexes ?? [])
  if (failed > maxFailedIndexes) {
    const message = 'Job has exceeded the specified maximal number of failed indexes'
    return failure('MaxFailedIndexesExceeded', message)
  }
  const isOver = failed > 0 && failed + countIndexes(podCounts.succeededIndexes) >= completions
  return isOver ? failure('FailedIndexes', 'Job has failed indexes') : undefined
}

function policySuccess({ job, podCounts }: OutcomeWorld): JobOutcome | undefined {
  const message = matchSuccessPolicy(job, podCounts.succeededIndexes)
  return message === undefined ? undefined : { result: 'success', reason: 'SuccessPolicy', message }
}

function failure(reason: string, message: string): JobOutcome {
  return { result: 'failure', reason, message }
}

/**
 * The message of the first success policy rule that the succeeded indexes satisfy; undefined if none.
 * https://kubernetes.io/docs/concepts/workloads/controllers/job/#success-policy
 */
function matchSuccessPolicy({ spec }: Job, succeeded: readonly IndexRange[]): string | undefined {
  if (succeeded.length === 0) return undefined
  const index = (spec?.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) {
      return succeededCount !== undefined && countIndexes(succeeded) >= succeededCount
    }
    const wanted = readIndexRanges(succeededIndexes, spec?.completions ?? 0)
    if (wanted.length === 0) return false
    return countIntersection(wanted, succeeded) >= (succeededCount ?? countIndexes(wanted))
  })
  return index === -1 ? undefined : `Matched rules at index ${index}`
}
