/**
 * Plans the handling of packets to a service on one node, as a pure function of the service and its endpoint
 * slices, independent of the backend (`nftables.ts`). Endpoint selection and traffic policies follow
 * Kubernetes. https://kubernetes.io/docs/reference/networking/virtual-ips/
 */
import { cidrContainsCidr, formatCidr, parseCidr, type Cidr } from '#/api/net/cidr.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Service, ServicePort } from '#/api/generated/core/v1.ts'
import { formatIp, parseIpLeniently, type IpFamily } from '#/api/net/ip.ts'
import { keyOf } from '#/api/metadata.ts'
import { categorizeEndpoints } from './plan/categorize-endpoints.ts'
import { endpointOf, localReadyCount, readEndpoints, type KnownEndpoint } from './plan/read-endpoints.ts'

export interface ServicePlan {
  /** One for each port and family of the service. */
  readonly ports: readonly PortPlan[]
  /** Result of the health check node port. */
  readonly health: { readonly port: number; readonly localEndpoints: number } | undefined
}

export interface PortPlan {
  /** `namespace/name/tcp/http`: unique within a family. */
  readonly id: string
  readonly family: IpFamily
  readonly protocol: Protocol
  readonly port: number
  readonly clusterIp: string
  readonly externalIps: readonly string[]
  readonly loadBalancerIps: readonly string[]
  readonly nodePort: number | undefined
  /** Clients allowed to use the load balancer addresses; empty means all. The ranges are disjoint. */
  readonly loadBalancerSourceRanges: readonly string[]
  /** Session affinity timeout; undefined without affinity. */
  readonly affinitySeconds: number | undefined
  /** For packets to the cluster IP. */
  readonly internal: Destination
  /**
   * For packets to all other addresses and to the node port. Pods and the node itself always use `cluster`.
   */
  readonly external: Destination
  readonly endpoints: {
    /** Endpoints on any node; `local` are those on this node, if a traffic policy needs them. */
    readonly cluster: readonly ServiceEndpoint[]
    readonly local: readonly ServiceEndpoint[]
    /** Endpoints that established flows may keep using, regardless of the policy. */
    readonly serving: readonly ServiceEndpoint[]
  }
}

export type Protocol = 'tcp' | 'udp' | 'sctp'

/**
 * `drop` when the policy is Local and endpoints exist only on other nodes: a load balancer should try another
 * node, and a rejection would end its attempts.
 */
export type Destination = 'cluster' | 'local' | 'reject' | 'drop'

export interface ServiceEndpoint {
  readonly address: string
  readonly port: number
  readonly isLocal: boolean
}

export interface ProxiedNode {
  readonly name: string
  /** Label `topology.kubernetes.io/zone`; empty without it. */
  readonly zone: string
}

export interface ServicePlanInput {
  readonly service: Service
  /** All slices of the service, in any order. */
  readonly slices: readonly EndpointSlice[]
  readonly node: ProxiedNode
  readonly families: readonly IpFamily[]
}

export function planService(input: ServicePlanInput): ServicePlan {
  const { service, slices, node, families } = input
  const { spec = {} } = service
  if (spec.type === 'ExternalName') return { ports: [], health: undefined }
  const ports = families.flatMap(family => {
    const clusterIp = clusterIpOf(service, family)
    if (clusterIp === undefined) return []
    const read = readEndpoints(slices, { family, nodeName: node.name })
    return (spec.ports ?? []).flatMap(port => {
      const endpoints = read.get(`${port.name ?? ''}/${port.protocol ?? 'TCP'}`) ?? []
      return planPort(input, { family, clusterIp, port, endpoints }) ?? []
    })
  })
  const isChecked = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
  const healthPort = isChecked ? (spec.healthCheckNodePort ?? 0) : 0
  const health =
    healthPort > 0 ? { port: healthPort, localEndpoints: localReadyCount(slices, node.name) } : undefined
  return { ports, health }
}

interface PortPlanInput {
  readonly family: IpFamily
  readonly clusterIp: string
  readonly port: ServicePort
  readonly endpoints: readonly KnownEndpoint[]
}

function planPort({ service, node }: ServicePlanInput, input: PortPlanInput): PortPlan | undefined {
  const { family, clusterIp, port, endpoints } = input
  const { spec = {}, status } = service
  const protocol = protocols.get(port.protocol ?? 'TCP')
  if (protocol === undefined) return undefined
  const externalIps = addressesOf(spec.externalIPs ?? [], family)
  const ingress = status?.loadBalancer?.ingress ?? []
  // With ipMode Proxy the load balancer handles packets to its address.
  const loadBalancerIps = addressesOf(
    ingress.flatMap(({ ip, ipMode }) => (ip !== undefined && (ipMode ?? 'VIP') === 'VIP' ? ip : [])),
    family,
  )
  const isExternal = externalIps.length > 0 || loadBalancerIps.length > 0 || (port.nodePort ?? 0) > 0
  const isInternallyLocal = spec.internalTrafficPolicy === 'Local'
  const isExternallyLocal = spec.externalTrafficPolicy === 'Local' && isExternal
  const { cluster, local, hasAny } = categorizeEndpoints(endpoints, {
    ...node,
    // Clients on this node that use an external address bypass the load balancer and are served by any
    // endpoint.
    usesCluster: !isInternallyLocal || isExternal,
    usesLocal: isInternallyLocal || isExternallyLocal,
  })
  const destination = (isLocal: boolean): Destination => {
    if (!hasAny) return 'reject'
    if (!isLocal) return 'cluster'
    return local.length > 0 ? 'local' : 'drop'
  }
  return {
    id: `${keyOf(service)}/${protocol}/${port.name ?? ''}`,
    family,
    protocol,
    port: port.port,
    clusterIp,
    externalIps,
    loadBalancerIps,
    nodePort: (port.nodePort ?? 0) > 0 ? port.nodePort : undefined,
    loadBalancerSourceRanges: sourceRangesOf(spec.loadBalancerSourceRanges ?? [], family),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP'
        ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySecondsUsual)
        : undefined,
    internal: destination(isInternallyLocal),
    external: destination(isExternallyLocal),
    endpoints: { cluster, local, serving: endpoints.filter(({ isServing }) => isServing).map(endpointOf) },
  }
}

/** The API default, three hours. */
const affinitySecondsUsual = 10_800

const protocols: ReadonlyMap<string, Protocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
])

/** Undefined for a headless service, or when the service has no cluster IP of this family. */
function clusterIpOf({ spec }: Service, family: IpFamily): string | undefined {
  const texts = spec?.clusterIPs?.length ? spec.clusterIPs : [spec?.clusterIP ?? '']
  return addressesOf(texts, family)[0]
}

/** Canonical and unique; invalid addresses are skipped. */
function addressesOf(texts: readonly string[], family: IpFamily): readonly string[] {
  const ips = texts.flatMap(text => parseIpLeniently(text) ?? []).filter(ip => ip.family === family)
  return [...new Set(ips.map(formatIp))]
}

/** A range that covers all addresses means no restriction. */
function sourceRangesOf(texts: readonly string[], family: IpFamily): readonly string[] {
  const cidrs = texts.flatMap(text => parseCidr(text.trim()) ?? []).filter(cidr => cidr.family === family)
  if (cidrs.some(({ prefixLength }) => prefixLength === 0)) return []
  return widest(cidrs).map(formatCidr)
}

/** Removes duplicates and ranges contained in another. */
function widest(cidrs: readonly Cidr[]): readonly Cidr[] {
  return cidrs.filter((cidr, index) => {
    return !cidrs.some((other, at) => {
      const isSame = other.first === cidr.first && other.prefixLength === cidr.prefixLength
      return isSame ? at < index : cidrContainsCidr(other, cidr)
    })
  })
}
