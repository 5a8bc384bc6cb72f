/**
 * The API objects of the cluster DNS: its service, the endpoint slice with its address, and the RBAC rules of
 * its service account. Idempotent. An existing `kube-dns` service with a selector, such as a CoreDNS
 * deployment, is left unchanged.
 */
import type { Service, ServiceAccount } from '#/api/generated/core/v1.ts'
import { serviceAccounts, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { ClusterRole, ClusterRoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { dnsMetricsPort } from './dns-metrics.ts'

export interface DnsServiceOptions {
  /** The name server in the `resolv.conf` of pods. */
  readonly clusterIp: string
  /** The address that the DNS server listens on. */
  readonly address: string
  readonly port: number
  readonly nodeName: string
}

/** The service account of the DNS server. */
export const dnsServiceAccount = 'coredns'

/** Returns `elsewhere` when the service has a selector, so that this server does not manage it. */
export async function ensureDnsService(
  client: Client,
  options: DnsServiceOptions,
): Promise<'ours' | 'elsewhere'> {
  const known = await client.find(services, at)
  if (Object.keys(known?.spec?.selector ?? {}).length > 0) return 'elsewhere'
  const knownIp = known?.spec?.clusterIP
  if (knownIp !== undefined && knownIp !== options.clusterIp) {
    const wayOut = 'delete it and restart the cluster'
    throw new Error(
      `service kube-system/kube-dns has cluster IP ${knownIp} instead of ${options.clusterIp}: ${wayOut}`,
    )
  }
  const service = await client.apply(services, serviceOf(options), { fieldManager, force: true })
  await client.apply(endpointSlices, sliceOf(service, options), { fieldManager, force: true })
  return 'ours'
}

export async function ensureDnsRbac(client: Client): Promise<void> {
  await client.apply(serviceAccounts, account, { fieldManager, force: true })
  await client.apply(clusterRoles, role, { fieldManager, force: true })
  await client.apply(clusterRoleBindings, binding, { fieldManager, force: true })
}

const fieldManager = 'k8ts-dns'

const at = { namespace: 'kube-system', name: 'kube-dns' }

const labels = {
  'k8s-app': 'kube-dns',
  'kubernetes.io/cluster-service': 'true',
  'kubernetes.io/name': 'CoreDNS',
}

function serviceOf({ clusterIp }: DnsServiceOptions): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...at, labels },
    spec: {
      type: 'ClusterIP',
      clusterIP: clusterIp,
      clusterIPs: [clusterIp],
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP', targetPort: 53 },
        { name: 'dns-tcp', port: 53, protocol: 'TCP', targetPort: 53 },
        { name: 'metrics', port: dnsMetricsPort, protocol: 'TCP', targetPort: dnsMetricsPort },
      ],
    },
  }
}

function sliceOf(service: Stored<Service>, { address, port, nodeName }: DnsServiceOptions): EndpointSlice {
  const { uid } = service.metadata
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...at,
      labels: {
        'kubernetes.io/service-name': at.name,
        'endpointslice.kubernetes.io/managed-by': 'dns.k8ts',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: at.name, uid }],
    },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [
      { addresses: [address], nodeName, conditions: { ready: true, serving: true, terminating: false } },
    ],
    ports: [
      { name: 'dns', port, protocol: 'UDP' },
      { name: 'dns-tcp', port, protocol: 'TCP' },
      { name: 'metrics', port: dnsMetricsPort, protocol: 'TCP' },
    ],
  }
}

const account: ServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { namespace: at.namespace, name: dnsServiceAccount },
}

const role: ClusterRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'system:coredns' },
  rules: [
    { apiGroups: [''], resources: ['endpoints', 'services', 'pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
  ],
}

const binding: ClusterRoleBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'system:coredns' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:coredns' },
  subjects: [{ kind: 'ServiceAccount', name: dnsServiceAccount, namespace: at.namespace }],
}
