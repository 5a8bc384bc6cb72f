import { isExcludedFromLoadBalancers } from '#/api/core/load-balancers.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { isBeingDeleted } from '#/api/metadata.ts'

const toBeDeletedTaint = 'ToBeDeletedByClusterAutoscaler'

/**
 * True if load balancers send traffic to the node. Readiness is ignored: load balancers have health checks,
 * and updating them on every change would be too frequent.
 */
export function isLoadBalancerNode(node: Node): boolean {
  if (isExcludedFromLoadBalancers(node)) return false
  return !isBeingDeleted(node) && !node.spec?.taints?.some(({ key }) => key === toBeDeletedTaint)
}

/** Identifies the nodes as seen by a load balancer; it is updated when the key changes. */
export function nodeSetKey(nodes: readonly Node[]): string {
  return nodes
    .map(({ metadata, spec }) => JSON.stringify([metadata.name, spec?.providerID ?? '']))
    .sort()
    .join()
}
