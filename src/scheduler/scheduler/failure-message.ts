import type { FilterFailure } from '../framework.ts'
import { noneAvailable } from '../reasons.ts'

/** The user-visible reason why a pod is unschedulable. */
export function failureMessage({ snapshot, refusals, everywhere, narrowedBy }: FilterFailure): string {
  const total = snapshot.nodes.length
  if (total === 0) return 'no nodes available to schedule pods'
  if (everywhere !== undefined) return `0/${total} nodes are available: ${everywhere.reason}.`
  const other = narrowedBy && `node(s) didn't satisfy plugin(s) [${narrowedBy.toSorted().join(' ')}]`
  return noneAvailable(total, refusals, other)
}
