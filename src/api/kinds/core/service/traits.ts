/** Properties that follow from the type of a service. */
import type { ServiceSpec } from '../../../generated/core/v1.ts'

/** True for a service without a cluster IP: its DNS name resolves to the addresses of its pods. */
export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === 'None'
}

export function isExternallyAccessible({ type, externalIPs }: ServiceSpec): boolean {
  if (type === 'LoadBalancer' || type === 'NodePort') return true
  return type === 'ClusterIP' && externalIPs !== undefined && externalIPs.length > 0
}

/** True if the service needs a health check node port for load balancers. */
export function needsHealthCheckNodePort({ type, externalTrafficPolicy }: ServiceSpec): boolean {
  return type === 'LoadBalancer' && externalTrafficPolicy === 'Local'
}

/** True if the service has cluster IPs, or `None`. */
export function needsClusterIp({ type }: ServiceSpec): boolean {
  return type !== 'ExternalName'
}

export function mayHaveNodePorts({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

/** True if the server allocates a node port for each port. */
export function needsNodePort({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean {
  return type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false)
}
