/**
 * What becomes of packets to services on one node: pure, from a service and its endpoint slices, and the same whatever
 * carries it out (`nftables.ts`). Which endpoints serve, and what happens when none does, is Kubernetes' own rule.
 * https://kubernetes.io/docs/reference/networking/virtual-ips/
 */
import { cidrContainsCidr, formatCidr, parseCidr, type Cidr } from '#/api/cidr.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Service, ServicePort } from '#/api/generated/core/v1.ts'
import { formatIp, parseIpLeniently, type IpFamily } from '#/api/ip.ts'
import { keyOf } from '#/api/metadata.ts'
import { categorizeEndpoints } from './plan/categorize-endpoints.ts'
import { backendOf, localReadyCount, readEndpoints, type KnownEndpoint } from './plan/read-endpoints.ts'

export interface ServicePlan {
  /** One for each port and family that the service has. */
  readonly ports: readonly PortPlan[]
  /** What to tell load balancers that ask whether this node has endpoints of the service. */
  readonly health: { readonly port: number; readonly localEndpoints: number } | undefined
}

export interface PortPlan {
  /** `namespace/name/tcp/http`: no two plans of one family have the same. */
  readonly id: string
  readonly family: IpFamily
  readonly protocol: Protocol
  readonly port: number
  readonly clusterIp: string
  readonly externalIps: readonly string[]
  readonly balancerIps: readonly string[]
  readonly nodePort: number | undefined
  /** Who may use the addresses of load balancers; everybody when empty. No range is part of another. */
  readonly sourceRanges: readonly string[]
  /** For so long a client comes back to the same endpoint. */
  readonly affinitySeconds: number | undefined
  /** What becomes of packets to the cluster IP. */
  readonly internal: Destination
  /** Of those to all other addresses and to the node port. Pods and the node itself are always served by `cluster`. */
  readonly external: Destination
  readonly endpoints: {
    /** Those that serve whatever node they are on; and those of this node, where the policy wants them. */
    readonly cluster: readonly Backend[]
    readonly local: readonly Backend[]
    /** To which flows that exist may go on, whatever the policy. */
    readonly serving: readonly Backend[]
  }
}

export type Protocol = 'tcp' | 'udp' | 'sctp'

/**
 * `drop` where a policy wants endpoints of this node and there are some elsewhere: a load balancer should try another
 * node, and a refusal would end its attempts.
 */
export type Destination = 'cluster' | 'local' | 'reject' | 'drop'

export interface Backend {
  readonly address: string
  readonly port: number
  readonly isLocal: boolean
}

export interface ProxiedNode {
  readonly name: string
  /** Of the label `topology.kubernetes.io/zone`; empty without one. */
  readonly zone: string
}

export interface ServiceWorld {
  readonly service: Service
  /** Of the service, in any order. */
  readonly slices: readonly EndpointSlice[]
  readonly node: ProxiedNode
  readonly families: readonly IpFamily[]
}

export function planService(world: ServiceWorld): ServicePlan {
  const { service, slices, node, families } = world
  const { spec = {} } = service
  if (spec.type === 'ExternalName') return { ports: [], health: undefined }
  const ports = families.flatMap(family => {
    const clusterIp = clusterIpOf(service, family)
    if (clusterIp === undefined) return []
    const read = readEndpoints(slices, { family, nodeName: node.name })
    return (spec.ports ?? []).flatMap(port => {
      const endpoints = read.get(`${port.name ?? ''}/${port.protocol ?? 'TCP'}`) ?? []
      return planPort(world, { family, clusterIp, port, endpoints }) ?? []
    })
  })
  const isChecked = spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
  const healthPort = isChecked ? (spec.healthCheckNodePort ?? 0) : 0
  const health =
    healthPort > 0 ? { port: healthPort, localEndpoints: localReadyCount(slices, node.name) } : undefined
  return { ports, health }
}

interface PortWorld {
  readonly family: IpFamily
  readonly clusterIp: string
  readonly port: ServicePort
  readonly endpoints: readonly KnownEndpoint[]
}

function planPort({ service, node }: ServiceWorld, world: PortWorld): PortPlan | undefined {
  const { family, clusterIp, port, endpoints } = world
  const { spec = {}, status } = service
  const protocol = protocols.get(port.protocol ?? 'TCP')
  if (protocol === undefined) return undefined
  const externalIps = addressesOf(spec.externalIPs ?? [], family)
  const ingress = status?.loadBalancer?.ingress ?? []
  // In the mode Proxy packets to that address are the load balancer's own affair.
  const balancerIps = addressesOf(
    ingress.flatMap(({ ip, ipMode }) => (ip !== undefined && (ipMode ?? 'VIP') === 'VIP' ? ip : [])),
    family,
  )
  const isExternal = externalIps.length > 0 || balancerIps.length > 0 || (port.nodePort ?? 0) > 0
  const isInternallyLocal = spec.internalTrafficPolicy === 'Local'
  const isExternallyLocal = spec.externalTrafficPolicy === 'Local' && isExternal
  const { cluster, local, hasAny } = categorizeEndpoints(endpoints, {
    ...node,
    // Who comes from this node to an external address is served as if he had gone round by the load balancer.
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
    balancerIps,
    nodePort: (port.nodePort ?? 0) > 0 ? port.nodePort : undefined,
    sourceRanges: sourceRangesOf(spec.loadBalancerSourceRanges ?? [], family),
    affinitySeconds:
      spec.sessionAffinity === 'ClientIP'
        ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? affinitySecondsUsual)
        : undefined,
    internal: destination(isInternallyLocal),
    external: destination(isExternallyLocal),
    endpoints: { cluster, local, serving: endpoints.filter(({ isServing }) => isServing).map(backendOf) },
  }
}

/** What the API server fills in; three hours. */
const affinitySecondsUsual = 10_800

const protocols: ReadonlyMap<string, Protocol> = new Map([
  ['TCP', 'tcp'],
  ['UDP', 'udp'],
  ['SCTP', 'sctp'],
])

/** Undefined for a headless service, and for one that has none in this family. */
function clusterIpOf({ spec }: Service, family: IpFamily): string | undefined {
  const texts = spec?.clusterIPs?.length ? spec.clusterIPs : [spec?.clusterIP ?? '']
  return addressesOf(texts, family)[0]
}

/** Canonical and without repetition; what is no address is left out. */
function addressesOf(texts: readonly string[], family: IpFamily): readonly string[] {
  const ips = texts.flatMap(text => parseIpLeniently(text) ?? []).filter(ip => ip.family === family)
  return [...new Set(ips.map(formatIp))]
}

/** A range of all addresses means that there is no restriction. */
function sourceRangesOf(texts: readonly string[], family: IpFamily): readonly string[] {
  const cidrs = texts.flatMap(text => parseCidr(text.trim()) ?? []).filter(cidr => cidr.family === family)
  if (cidrs.some(({ prefixLength }) => prefixLength === 0)) return []
  return widest(cidrs).map(formatCidr)
}

/** Without those that are part of another, and each once. */
function widest(cidrs: readonly Cidr[]): readonly Cidr[] {
  return cidrs.filter((cidr, index) => {
    return !cidrs.some((other, at) => {
      const isSame = other.first === cidr.first && other.prefixLength === cidr.prefixLength
      return isSame ? at < index : cidrContainsCidr(other, cidr)
    })
  })
}
