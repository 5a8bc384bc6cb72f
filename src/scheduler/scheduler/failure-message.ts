import type { Diagnosis } from '../framework.ts'
import { fitErrorMessage } from '../reasons.ts'

/** The user-visible reason why a pod is unschedulable. */
export function failureMessage({
  snapshot,
  nodeToStatus,
  preFilterStatus,
  preFilterPlugins,
}: Diagnosis): string {
  const total = snapshot.nodes.length
  if (total === 0) return 'no nodes available to schedule pods'
  if (preFilterStatus !== undefined) return `0/${total} nodes are available: ${preFilterStatus.reason}.`
  const other =
    preFilterPlugins && `node(s) didn't satisfy plugin(s) [${preFilterPlugins.toSorted().join(' ')}]`
  return fitErrorMessage(total, nodeToStatus, other)
}
