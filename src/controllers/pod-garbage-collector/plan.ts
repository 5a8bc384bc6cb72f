import { isTrue } from '#/api/conditions.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'
import { isPodTerminal } from '../pods.ts'

/** Finished pods beyond the limit: evicted ones first, then the oldest. */
export function planTerminatedPods(finished: readonly Pod[], finishedMax: number): readonly Pod[] {
  if (finished.length <= finishedMax) return []
  return finished.toSorted(byAge).slice(0, finished.length - finishedMax)
}

/**
 * True for a terminating pod that is unscheduled or on an out-of-service node: no kubelet will complete its
 * deletion.
 */
export function isTerminatingWithoutKubelet(pod: Pod, node: Node | undefined): boolean {
  if (!isBeingDeleted(pod) || isWaitingForFinalizers(pod)) return false
  return !pod.spec?.nodeName || (node !== undefined && isOutOfService(node))
}

/** True if the node is not ready and has the out-of-service taint. */
export function isOutOfService({ spec, status }: Node): boolean {
  const isTainted = spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/out-of-service') ?? false
  return isTainted && !isTrue(status?.conditions, 'Ready')
}

/** True if nothing is left to do: only finalizers keep the pod. */
export function isWaitingForFinalizers(pod: Pod): boolean {
  return isPodTerminal(pod) && isBeingDeleted(pod) && Number(pod.metadata?.deletionGracePeriodSeconds) === 0
}

function byAge(left: Pod, right: Pod): number {
  const isEvicted = ({ status }: Pod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted'
  if (isEvicted(left) !== isEvicted(right)) return isEvicted(left) ? -1 : 1
  const age = ({ metadata }: Pod): string => `${metadata?.creationTimestamp} ${metadata?.name}`
  return age(left) < age(right) ? -1 : 1
}
