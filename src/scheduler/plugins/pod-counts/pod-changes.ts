import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'
import { eachChange } from './node-changes.ts'

/** Takes note of a pod that is on a node (1), or is not there any more (-1). */
export type PodVisit = (pod: PodInfo, node: NodeInfo, sign: 1 | -1) => void

const none: readonly PodInfo[] = []

/** Calls with each pod that came or went; all pods of a node with other labels do both, as it is another place. */
export function eachPodChange(
  before: Snapshot,
  after: Snapshot,
  podsOf: (info: NodeInfo) => readonly PodInfo[],
  visit: PodVisit,
): void {
  eachChange(before, after, (old, now) => {
    const [oldPods, newPods] = [old ? podsOf(old) : none, now ? podsOf(now) : none]
    const isSamePlace = old?.labels === now?.labels
    if (isSamePlace && oldPods === newPods) return
    const gone = new Set(oldPods)
    if (now !== undefined) {
      for (const pod of newPods) if (!(gone.delete(pod) && isSamePlace)) visit(pod, now, 1)
    }
    if (old !== undefined) for (const pod of isSamePlace ? gone : oldPods) visit(pod, old, -1)
  })
}
