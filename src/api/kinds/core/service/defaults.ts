/**
 * Defaulting of Service. Cluster IPs and node ports are not defaults: the API server allocates them.
 * https://kubernetes.io/docs/concepts/services-networking/service/
 */
import type {
  LoadBalancerIngress,
  Service,
  ServicePort,
  ServiceSpec,
  ServiceStatus,
} from '../../../generated/core/v1.ts'
import { mapCopyOnWrite, withDefaults, withField, withMissing, withoutField } from '../../../copy-on-write.ts'
import { isExternallyAccessible } from './traits.ts'

export function withServiceDefaults(service: Service): Service {
  const spec = withSpecDefaults(service.spec ?? {})
  const filled = spec === service.spec ? service : { ...service, spec }
  return spec.type === 'LoadBalancer' ? withField(filled, 'status', withIpModes) : filled
}

/** Default session affinity timeout: three hours. */
const affinityTimeoutSeconds = 10_800

function withSpecDefaults(given: ServiceSpec): ServiceSpec {
  const typed = withDefaults(given, { sessionAffinity: 'None', type: 'ClusterIP' })
  const spec = withField(withAffinityConfig(typed), 'ports', ports => mapCopyOnWrite(ports, withPortDefaults))
  if (spec.type === 'ExternalName') return withoutField(spec, 'internalTrafficPolicy')
  const isBalanced = spec.type === 'LoadBalancer'
  const hasClusterIp = isBalanced || spec.type === 'NodePort' || spec.type === 'ClusterIP'
  const filled = withMissing(spec, {
    ...(hasClusterIp && { internalTrafficPolicy: 'Cluster' }),
    ...(isBalanced && { allocateLoadBalancerNodePorts: true }),
  })
  return isExternallyAccessible(filled) ? withDefaults(filled, { externalTrafficPolicy: 'Cluster' }) : filled
}

function withAffinityConfig(spec: ServiceSpec): ServiceSpec {
  if (spec.sessionAffinity === 'None') return withoutField(spec, 'sessionAffinityConfig')
  if (spec.sessionAffinity !== 'ClientIP') return spec
  if (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds !== undefined) return spec
  return { ...spec, sessionAffinityConfig: { clientIP: { timeoutSeconds: affinityTimeoutSeconds } } }
}

function withPortDefaults(port: ServicePort): ServicePort {
  return withDefaults(port, { protocol: 'TCP', ...(port.port && { targetPort: port.port }) })
}

function withIpModes(status: ServiceStatus): ServiceStatus {
  return withField(status, 'loadBalancer', balancer => {
    return withField(balancer, 'ingress', ingress => mapCopyOnWrite(ingress, withIpMode))
  })
}

function withIpMode(ingress: LoadBalancerIngress): LoadBalancerIngress {
  return ingress.ip ? withMissing(ingress, { ipMode: 'VIP' }) : ingress
}
