/**
 * Accessors for a job's pods. Each pod has a finalizer until it is counted in the job's status, so that none
 * is lost, and in an indexed job its completion index.
 * https://kubernetes.io/docs/concepts/workloads/controllers/job/#job-tracking-with-finalizers
 */
import { conditionOf } from '#/api/conditions.ts'
import type { Job } from '#/api/generated/batch/v1.ts'
import type { ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { int32Max } from '#/api/text/int64.ts'
import { hasFinalizer, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'
import { isPodTerminal } from '../pods.ts'

export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

/** Used as label and annotation. */
export const completionIndexKey = 'batch.kubernetes.io/job-completion-index'

export const failureCountKey = 'batch.kubernetes.io/job-index-failure-count'
export const ignoredFailureCountKey = 'batch.kubernetes.io/job-index-ignored-failure-count'

/** True if the pod has not been counted in the job's status yet. */
export function hasJobTrackingFinalizer(pod: Pod): boolean {
  return hasFinalizer(pod, trackingFinalizer)
}

export function isIndexed({ spec }: Job): boolean {
  return spec?.completionMode === 'Indexed'
}

export function completionIndexOf({ metadata }: Pod): number | undefined {
  const text = metadata.annotations?.[completionIndexKey] ?? ''
  return /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined
}

/** In an indexed job a pod counts only if its index is valid. */
export function isCountable(pod: Pod, job: Job): boolean {
  if (!isIndexed(job)) return true
  const index = completionIndexOf(pod)
  return index !== undefined && index < (job.spec?.completions ?? 0)
}

export function onlyReplaceFailedPods({ spec }: Job): boolean {
  return spec?.podReplacementPolicy === 'Failed'
}

export function isTerminating(pod: Pod): boolean {
  return isBeingDeleted(pod) && !isPodTerminal(pod)
}

/**
 * A terminating pod may never report a failure, so it counts as failed, unless `podReplacementPolicy` is
 * Failed.
 */
export function hasFailed(pod: Pod, job: Job): boolean {
  return pod.status?.phase === 'Failed' || (isTerminating(pod) && !onlyReplaceFailedPods(job))
}

/** Number of earlier failures of the index that count towards `backoffLimitPerIndex`. */
export function failuresBefore(pod: Pod): number {
  return countIn(pod, failureCountKey)
}

export function ignoredFailuresBefore(pod: Pod): number {
  return countIn(pod, ignoredFailureCountKey)
}

function countIn({ metadata }: Pod, annotation: string): number {
  const text = metadata.annotations?.[annotation] ?? ''
  const count = /^[0-9]{1,10}$/.test(text) ? Number(text) : 0
  return count <= int32Max ? count : 0
}

/** Time at which the last container finished, or the best approximation. */
export function finishedAtMs(pod: Stored<Pod>): number {
  const { metadata, status } = pod
  const ready = conditionOf(status?.conditions, 'Ready')
  const notReadySince = ready?.status === 'False' ? parseTime(ready.lastTransitionTime ?? '') : undefined
  return (
    containersFinishedMs(pod) ??
    notReadySince ??
    deletedAtMs(pod) ??
    parseTime(metadata.creationTimestamp) ??
    0
  )
}

function deletedAtMs({ metadata }: Pod): number | undefined {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata
  const goneMs = parseTime(deletionTimestamp ?? '')
  return goneMs === undefined ? undefined : goneMs - Number(deletionGracePeriodSeconds) * 1_000
}

/**
 * Undefined while a container is running. Sidecars are included, since they finish after the main containers.
 */
function containersFinishedMs({ spec, status }: Pod): number | undefined {
  const sidecars = new Set(
    (spec?.initContainers ?? []).filter(each => each.restartPolicy === 'Always').map(({ name }) => name),
  )
  const statuses: readonly ContainerStatus[] = [
    ...(status?.containerStatuses ?? []),
    ...(status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name)),
  ]
  const times = statuses.map(({ state }) => parseTime(state?.terminated?.finishedAt ?? ''))
  const known = times.filter(time => time !== undefined)
  return known.length === 0 || known.length < times.length ? undefined : Math.max(...known)
}
