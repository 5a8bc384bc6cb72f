import type { NodeInfo } from '../../node-info.ts'
import type { PodInfo } from '../../pod-info.ts'
import type { Snapshot } from '../../snapshot.ts'

/** Called for a pod added to (1) or removed from (-1) a node. */
export type PodVisit = (pod: PodInfo, node: NodeInfo, sign: 1 | -1) => void

const none: readonly PodInfo[] = []

/**
 * Visits each added and removed pod; if the labels of a node change, all its pods are removed and added
 * again.
 */
export function eachPodChange(
  { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
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

/**
 * Visits each changed node: `before` is undefined for an added node, `after` for a removed one. Unchanged nodes are
 * identical objects.
 */
function eachChange(
  before: Snapshot,
  after: Snapshot,
  visit: (before: NodeInfo | undefined, after: NodeInfo | undefined) => void,
): void {
  const positions = after.changedSince(before)
  if (positions !== undefined) {
    for (const position of positions) visit(before.nodes[position], after.nodes[position])
    return
  }
  for (const info of before.nodes) {
    const now = after.get(info.name)
    if (now !== info) visit(info, now)
  }
  for (const info of after.nodes) if (!before.positions.has(info.name)) visit(undefined, info)
}
