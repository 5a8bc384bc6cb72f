/** Pods by their assignment: pending pods are scheduled, assigned pods count on their node. */
import type { Pod } from '#/api/generated/core/v1.ts'
import { isBeingDeleted, type Stored } from '#/api/metadata.ts'

/** True for a pod that is to be scheduled. */
export function isPending(pod: Pod): boolean {
  return !pod.spec?.nodeName && !isTerminated(pod) && !isBeingDeleted(pod)
}

/** True for a pod on a node that has not terminated. */
export function isAssigned(pod: Pod): boolean {
  return Boolean(pod.spec?.nodeName) && !isTerminated(pod)
}

export function assignedTo(pod: Stored<Pod>, nodeName: string): Stored<Pod> {
  return { ...pod, spec: { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName } }
}

function isTerminated({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}
