/**
 * DNS servers of k8ts are not pods, but policies that allow egress to the cluster's DNS usually select its pods. They
 * are treated as pods with the label of the Service `kube-dns`.
 */
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import { formatIp, parseIpLeniently } from '#/api/net/ip.ts'
import { protocolOf } from './plan/read-policy.ts'
import type { PodFacts } from './pod-facts.ts'

/** The slices of DNS servers of this program. Those of pods have another manager. */
export const dnsSlices = {
  namespace: 'kube-system',
  labelSelector: 'kubernetes.io/service-name=kube-dns,endpointslice.kubernetes.io/managed-by=dns.k8ts',
}

/** Undefined for a slice without addresses. */
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
