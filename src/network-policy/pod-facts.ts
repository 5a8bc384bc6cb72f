/** The facts about a pod that network policies depend on, read from its object. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Labels } from '#/api/labels.ts'
import { keyOf } from '#/api/metadata.ts'
import { formatIp, parseIpLeniently } from '#/api/net/ip.ts'
import { protocolOf, type Protocol } from './plan/read-policy.ts'

/** All that network policies depend on. */
export interface PodFacts {
  readonly key: string
  readonly namespace: string
  readonly labels: Labels | undefined
  /** Canonical. */
  readonly addresses: readonly string[]
  /** True if the pod is on this node. */
  readonly isLocal: boolean
  readonly namedPorts: readonly NamedPort[]
}

export interface NamedPort {
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
}

interface PodReading {
  readonly nodeName: string
  /** Addresses that the status may not have yet. */
  readonly addresses?: readonly string[] | undefined
}

/**
 * Undefined for a pod that no policy concerns: without address, terminated, so that another pod may get its address,
 * or in the network of its node.
 */
export function podFacts(pod: Pod, { nodeName, addresses = [] }: PodReading): PodFacts | undefined {
  const { metadata, spec, status } = pod
  if (spec?.hostNetwork || status?.phase === 'Succeeded' || status?.phase === 'Failed') return undefined
  const reported = status?.podIPs?.map(({ ip }) => ip) ?? [status?.podIP ?? '']
  const ips = [...addresses, ...reported].flatMap(text => parseIpLeniently(text) ?? [])
  if (ips.length === 0) return undefined
  return {
    key: keyOf(pod),
    namespace: metadata.namespace ?? '',
    labels: metadata.labels,
    addresses: [...new Set(ips.map(formatIp))],
    isLocal: spec?.nodeName === nodeName,
    namedPorts: namedPortsOf(pod),
  }
}

/** Those of containers and of sidecars. */
function namedPortsOf({ spec }: Pod): readonly NamedPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  return [...(spec?.containers ?? []), ...sidecars].flatMap(({ ports = [] }) =>
    ports.flatMap(({ name, protocol, containerPort }) => {
      const known = protocolOf(protocol)
      return name && known ? { name, protocol: known, port: containerPort } : []
    }),
  )
}

/** The slices of DNS servers of this program. Those of pods have another manager. */
export const dnsSlices = {
  namespace: 'kube-system',
  labelSelector: 'kubernetes.io/service-name=kube-dns,endpointslice.kubernetes.io/managed-by=dns.k8ts',
}

/**
 * DNS servers of k8ts are not pods, but policies that allow egress to the cluster's DNS usually select its pods. They
 * are treated as pods with the label of the Service `kube-dns`. Undefined for a slice without addresses.
 */
export function dnsFacts(slice: EndpointSlice): PodFacts | undefined {
  const { metadata, endpoints, ports } = slice
  const ips = (endpoints ?? []).flatMap(({ addresses }) =>
    addresses.flatMap(text => parseIpLeniently(text) ?? []),
  )
  if (ips.length === 0) return undefined
  return {
    key: keyOf(slice),
    namespace: metadata.namespace ?? '',
    labels: { 'k8s-app': 'kube-dns' },
    addresses: [...new Set(ips.map(formatIp))],
    isLocal: false,
    namedPorts: (ports ?? []).flatMap(({ name, port, protocol }) => {
      const known = protocolOf(protocol)
      return name && port && known ? { name, protocol: known, port } : []
    }),
  }
}
