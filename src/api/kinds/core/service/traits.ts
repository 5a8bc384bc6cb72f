/** What the type of a service makes of it. */
import type { ServiceSpec } from '../../../generated/core/v1.ts'

/** A service without an address of its own: its name leads to the addresses of its pods. */
export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === 'None'
}

export function isExternallyAccessible({ type, externalIPs }: ServiceSpec): boolean {
  if (type === 'LoadBalancer' || type === 'NodePort') return true
  return type === 'ClusterIP' && externalIPs !== undefined && externalIPs.length > 0
}

/** Whether load balancers ask the nodes for a health of their own, on a port of its own. */
export function needsHealthCheckPort({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
}

/** Whether the service has an address, or says that it has none. */
export function needsClusterIps({ type }: ServiceSpec): boolean {
  return type !== 'ExternalName'
}

export function mayHaveNodePorts({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

/** Whether the server gives each port a port on the nodes. */
export function needsNodePorts({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean {
  return type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false)
}
