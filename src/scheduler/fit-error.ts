/** User-visible messages: why a pod does not fit any node. */
import type { Diagnosis, Unschedulable } from './framework.ts'

/** The message for the result of a scheduling cycle without a feasible node. */
export function diagnosisMessage(diagnosis: Diagnosis): string {
  const { snapshot, nodeToStatus, preFilterStatus, preFilterPlugins } = diagnosis
  const total = snapshot.nodes.length
  if (total === 0) return 'no nodes available to schedule pods'
  if (preFilterStatus !== undefined) return `0/${total} nodes are available: ${preFilterStatus.reason}.`
  const other =
    preFilterPlugins && `node(s) didn't satisfy plugin(s) [${preFilterPlugins.toSorted().join(' ')}]`
  return fitErrorMessage(total, nodeToStatus, other)
}

/**
 * Kubernetes' message: `0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s).`
 * Nodes without a status count for `other`.
 */
export function fitErrorMessage(
  total: number,
  nodeToStatus: ReadonlyMap<string, Unschedulable>,
  other?: string,
): string {
  const counts = new Map<string, number>()
  const count = (reason: string, nodes: number): void => {
    counts.set(reason, (counts.get(reason) ?? 0) + nodes)
  }
  for (const { reason, more = [] } of nodeToStatus.values()) {
    for (const each of [reason, ...more]) count(each, 1)
  }
  if (other !== undefined && nodeToStatus.size < total) count(other, total - nodeToStatus.size)
  const reasons = [...counts].map(([reason, nodes]) => `${nodes} ${reason}`).toSorted()
  return `0/${total} nodes are available:${reasons.length > 0 ? ` ${reasons.join(', ')}.` : ''}`
}
