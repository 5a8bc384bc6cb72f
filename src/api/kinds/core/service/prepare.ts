/**
 * Reconciles dependent fields in updates of a service. Clients may omit allocated values, set an address in
 * only one of two fields, or change the type without clearing fields of the old type. Unambiguous cases are
 * completed here; validation rejects the rest.
 */
import type { Service, ServicePort, ServiceSpec } from '../../../generated/core/v1.ts'
import { equalJson } from '../../../text/json-value.ts'
import { mapCopyOnWrite, withDefaults, withField, withoutField } from '../../../copy-on-write.ts'
import {
  isExternallyAccessible,
  mayHaveNodePorts,
  needsClusterIp,
  needsHealthCheckNodePort,
  needsNodePort,
} from './traits.ts'

export function prepareServiceForCreate(service: Service): Service {
  const { clusterIP, clusterIPs = [] } = service.spec ?? {}
  const prepared: Service = { ...service, status: { ...service.status, loadBalancer: {} } }
  if (!clusterIP || clusterIPs.length > 0) return prepared
  return { ...prepared, spec: { ...service.spec, clusterIPs: [clusterIP] } }
}

export function prepareServiceForUpdate(service: Service, old: Service): Service {
  const was = old.spec ?? {}
  const kept = withSingleStack(patchAllocatedValues(service.spec ?? {}, was), was)
  const spec = dropTypeDependentFields(withSameClusterIps(kept, was), was)
  const prepared = spec === service.spec ? service : { ...service, spec }
  if (spec.type === 'LoadBalancer' || !service.status?.loadBalancer?.ingress) return prepared
  return { ...prepared, status: { ...service.status, loadBalancer: {} } }
}

/** Keeps allocated values that the client omits, such as when it re-sends the original manifest. */
function patchAllocatedValues(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  let kept = spec
  if (needsClusterIp(old) && needsClusterIp(spec)) {
    const { clusterIP, ipFamilyPolicy } = old
    kept = withDefaults(kept, { ...(clusterIP && { clusterIP }), ...(ipFamilyPolicy && { ipFamilyPolicy }) })
    const { clusterIPs = [] } = kept
    if (clusterIPs.length === 0 && old.clusterIPs?.length) kept = { ...kept, clusterIPs: old.clusterIPs }
  }
  if (needsNodePort(old) && needsNodePort(spec)) kept = withNodePorts(kept, old)
  if (needsHealthCheckNodePort(old) && needsHealthCheckNodePort(spec) && !kept.healthCheckNodePort) {
    const { healthCheckNodePort } = old
    if (healthCheckNodePort) kept = { ...kept, healthCheckNodePort }
  }
  return kept
}

/** Downgrading to SingleStack releases the secondary address and family. */
function withSingleStack(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  if (spec.ipFamilyPolicy !== 'SingleStack') return spec
  const firstOf = (list: readonly string[], was: readonly string[] | undefined): readonly string[] => {
    return list.length > 1 && equalJson(list, was) ? list.slice(0, 1) : list
  }
  const addressed = withField(spec, 'clusterIPs', list => firstOf(list, old.clusterIPs))
  return withField(addressed, 'ipFamilies', list => firstOf(list, old.ipFamilies))
}

/**
 * A port without a node port keeps that of the old port with the same name, unless the client assigned it to
 * another port.
 */
function withNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const taken = new Set(spec.ports?.map(port => port.nodePort ?? 0))
  const byName = new Map(old.ports?.map(port => [port.name ?? '', port.nodePort ?? 0]))
  const withNodePort = (port: ServicePort): ServicePort => {
    const nodePort = byName.get(port.name ?? '') ?? 0
    return port.nodePort || nodePort === 0 || taken.has(nodePort) ? port : { ...port, nodePort }
  }
  return withField(spec, 'ports', ports => mapCopyOnWrite(ports, withNodePort))
}

/** If the client changed only `clusterIP`, `clusterIPs` follows. */
function withSameClusterIps(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const { clusterIP = '' } = spec
  const isChanged = clusterIP !== (old.clusterIP ?? '')
  if (!isChanged || !equalJson(spec.clusterIPs ?? [], old.clusterIPs ?? [])) return spec
  return clusterIP === '' ? withoutField(spec, 'clusterIPs') : { ...spec, clusterIPs: [clusterIP] }
}

/** Clears fields that only the old type supports, if the client has not changed them. */
function dropTypeDependentFields(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const unused: (keyof ServiceSpec)[] = []
  const isSame = (...fields: (keyof ServiceSpec)[]) => {
    return fields.every(field => equalJson(spec[field], old[field]))
  }
  if (needsClusterIp(old) && !needsClusterIp(spec)) {
    if (isSame('clusterIP', 'clusterIPs')) unused.push('clusterIP', 'clusterIPs')
    if (isSame('ipFamilies')) unused.push('ipFamilies')
    if (isSame('ipFamilyPolicy')) unused.push('ipFamilyPolicy')
  }
  if (needsHealthCheckNodePort(old) && !needsHealthCheckNodePort(spec) && isSame('healthCheckNodePort')) {
    unused.push('healthCheckNodePort')
  }
  if (old.type === 'LoadBalancer' && spec.type !== 'LoadBalancer') {
    if (isSame('allocateLoadBalancerNodePorts')) unused.push('allocateLoadBalancerNodePorts')
    if (isSame('loadBalancerClass')) unused.push('loadBalancerClass')
  }
  const isHidden = isExternallyAccessible(old) && !isExternallyAccessible(spec)
  if (isHidden && isSame('externalTrafficPolicy')) unused.push('externalTrafficPolicy')
  const left = unused.reduce(withoutField<ServiceSpec, keyof ServiceSpec>, spec)
  return mayHaveNodePorts(old) && !mayHaveNodePorts(left) ? withoutNodePorts(left, old) : left
}

/** Clears node ports, unless the client set a new one, which validation rejects later. */
function withoutNodePorts(spec: ServiceSpec, old: ServiceSpec): ServiceSpec {
  const known = new Set([0, ...(old.ports?.map(port => port.nodePort ?? 0) ?? [])])
  if (spec.ports?.some(port => !known.has(port.nodePort ?? 0))) return spec
  return withField(spec, 'ports', ports => mapCopyOnWrite(ports, port => withoutField(port, 'nodePort')))
}
