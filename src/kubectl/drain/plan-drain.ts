import type { Pod } from '#/api/generated/core/v1.ts'
import { controllerOf } from '#/api/metadata.ts'

export interface DrainPolicy {
  readonly force: boolean
  readonly ignoreDaemonSets: boolean
  readonly deleteEmptyDirData: boolean
  /** Pods that should have been deleted for longer than this are left alone; 0 for none. */
  readonly skipDeletedSeconds: number
  readonly nowMs: number
}

/** What happens to a pod of a node that is drained. */
export interface PodVerdict {
  readonly pod: Pod
  readonly isDeleted: boolean
  /** Forbids the drain. */
  readonly error?: string
  readonly warning?: string
}

/** By `namespace/name` of a daemon set: the error of reading it, undefined if it exists. */
export type DaemonSetErrors = ReadonlyMap<string, DaemonSetError | undefined>

export interface DaemonSetError {
  readonly message: string
  readonly isNotFound: boolean
}

/** The daemon set that keeps the pod running; its pods cannot be moved. */
export function daemonSetOf(pod: Pod): string | undefined {
  const controller = controllerOf(pod)
  if (controller?.kind !== 'DaemonSet' || controller.apiVersion !== 'apps/v1') return undefined
  return `${pod.metadata.namespace}/${controller.name}`
}

export interface DrainFacts {
  readonly policy: DrainPolicy
  readonly daemonSets: DaemonSetErrors
}

export function planPod(pod: Pod, { policy, daemonSets }: DrainFacts): PodVerdict {
  const keep = { pod, isDeleted: false }
  if (isSkipped(pod, policy)) return keep
  const isFinished = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  const daemonSet = daemonSetOf(pod)
  if (daemonSet !== undefined && !isFinished) {
    const error = daemonSets.get(daemonSet)
    if (error === undefined) {
      return policy.ignoreDaemonSets
        ? { ...keep, warning: 'ignoring DaemonSet-managed Pods' }
        : { ...keep, error: 'DaemonSet-managed Pods (use --ignore-daemonsets to ignore)' }
    }
    if (!error.isNotFound || !policy.force) return { ...keep, error: error.message }
  }
  // The pods of static manifests cannot be deleted with the API.
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return keep
  if (isFinished) return { pod, isDeleted: true }
  if (pod.spec?.volumes?.some(({ emptyDir }) => emptyDir) && !policy.deleteEmptyDirData) {
    return { ...keep, error: 'Pods with local storage (use --delete-emptydir-data to override)' }
  }
  if (controllerOf(pod) !== undefined) return { pod, isDeleted: true }
  return policy.force
    ? { pod, isDeleted: true, warning: 'deleting Pods that declare no controller' }
    : { ...keep, error: 'Pods that declare no controller (use --force to override)' }
}

/** True if the pod should have been deleted long ago. */
export function isSkipped({ metadata }: Pod, { skipDeletedSeconds, nowMs }: DrainPolicy): boolean {
  const { deletionTimestamp } = metadata
  if (skipDeletedSeconds <= 0 || deletionTimestamp === undefined) return false
  return Math.trunc((nowMs - Date.parse(deletionTimestamp)) / 1_000) > skipDeletedSeconds
}

/** `cannot delete Pods with local storage (...): shop/web-0, shop/web-1`, a text for each reason. */
export function drainErrors(verdicts: readonly PodVerdict[]): readonly string[] {
  return grouped(verdicts, 'error').map(([reason, pods]) => `cannot delete ${reason}: ${pods}`)
}

/** Empty if there are none. */
export function drainWarning(verdicts: readonly PodVerdict[]): string {
  return grouped(verdicts, 'warning')
    .map(([reason, pods]) => `${reason}: ${pods}`)
    .join('; ')
}

/** The pods with the same reason. */
function grouped(
  verdicts: readonly PodVerdict[],
  field: 'error' | 'warning',
): readonly (readonly [string, string])[] {
  const byReason = new Map<string, string[]>()
  for (const { pod, [field]: reason } of verdicts) {
    if (reason === undefined) continue
    byReason.getOrInsertComputed(reason, () => []).push(`${pod.metadata.namespace}/${pod.metadata.name}`)
  }
  return [...byReason].map(([reason, pods]) => [reason, pods.join(', ')])
}
