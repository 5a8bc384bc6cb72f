import type { Node } from '#/api/generated/core/v1.ts'
import { labelOf } from '#/api/labels.ts'
import { isBeingDeleted } from '#/api/metadata.ts'

const excludeLabel = 'node.kubernetes.io/exclude-from-external-load-balancers'
const goingTaint = 'ToBeDeletedByClusterAutoscaler'

/** Texts that mean that the label does not hold. */
const falseTexts: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE'])

/**
 * Whether load balancers send to the node. Whether it is ready does not matter: a load balancer finds that
 * out by itself, and one that is told each time would be told all the time.
 */
export function isBalanced(node: Node): boolean {
  const excluded = labelOf(node.metadata?.labels, excludeLabel)
  if (excluded !== undefined && !falseTexts.has(excluded)) return false
  return !isBeingDeleted(node) && !node.spec?.taints?.some(({ key }) => key === goingTaint)
}

/** What a load balancer knows of nodes: another when it must be told. */
export function nodesKey(nodes: readonly Node[]): string {
  return nodes
    .map(({ metadata, spec }) => JSON.stringify([metadata?.name, spec?.providerID ?? '']))
    .sort()
    .join()
}
