import type { Node } from '../generated/core/v1.ts'
import { labelOf } from '../labels.ts'

/**
 * Name of the pool that the address of a service was allocated from. Only services with this annotation have
 * addresses that the nodes announce: those of other load balancer implementations announce theirs.
 */
export const allocatedFromPoolAnnotation = 'k8ts.io/ip-allocated-from-pool'

/** Selects the services that may have addresses of load balancers. */
export const loadBalancerServices = { fieldSelector: 'spec.type=LoadBalancer' } as const

const excludeLabel = 'node.kubernetes.io/exclude-from-external-load-balancers'

/** Label values that mean false. */
const falseTexts: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE'])

export function isExcludedFromLoadBalancers({ metadata }: Node): boolean {
  const excluded = labelOf(metadata.labels, excludeLabel)
  return excluded !== undefined && !falseTexts.has(excluded)
}
