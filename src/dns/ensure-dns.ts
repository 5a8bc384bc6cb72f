/**
 * The API objects of the cluster DNS: its service, the endpoint slice with its address, and the RBAC rules of
 * its service account. Idempotent. An existing `kube-dns` service with a selector, such as a CoreDNS
 * deployment, is left unchanged.
 */
import type { Service, ServiceAccount } from '#/api/generated/core/v1.ts'
import { serviceAccounts, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '#/api/generated/rbac/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import { dnsMetricsPort } from './dns-metrics.ts'

export interface DnsSliceOptions {
  /** Of the EndpointSlice. */
  readonly name: string
  /** The address that the DNS server listens on. */
  readonly address: string
  readonly port: number
  readonly nodeName: string
}

/** The service account of the DNS server. */
export const dnsServiceAccount = 'coredns'

/**
 * `clusterIp` is the name server in the `resolv.conf` of pods. Returns undefined when the service has a selector, so
 * that DNS servers of this program are not its endpoints.
 */
export async function ensureDnsService(
  client: Client,
  clusterIp: string,
): Promise<Stored<Service> | undefined> {
  const known = await client.find(services, dnsService)
  if (Object.keys(known?.spec?.selector ?? {}).length > 0) return undefined
  const knownIp = known?.spec?.clusterIP
  if (knownIp !== undefined && knownIp !== clusterIp) {
    const wayOut = 'delete it and restart the cluster'
    throw new Error(
      `service kube-system/kube-dns has cluster IP ${knownIp} instead of ${clusterIp}: ${wayOut}`,
    )
  }
  return client.apply(services, serviceOf(clusterIp), { fieldManager, force: true })
}

export async function applyDnsSlice(client: Client, slice: EndpointSlice): Promise<void> {
  await client.apply(endpointSlices, slice, { fieldManager, force: true })
}

export async function ensureDnsRbac(client: Client): Promise<void> {
  await client.apply(serviceAccounts, account, { fieldManager, force: true })
  await client.apply(clusterRoles, role, { fieldManager, force: true })
  await client.apply(clusterRoleBindings, binding, { fieldManager, force: true })
  await client.apply(roles, configurationRole, { fieldManager, force: true })
  await client.apply(roleBindings, bindingOf(configurationAt), { fieldManager, force: true })
}

/** Grants the DNS servers the rights of this version, unless the endpoints of the service are pods. */
export async function upgradeDnsRights(client: Client): Promise<void> {
  const service = await client.find(services, dnsService)
  if (service === undefined || Object.keys(service.spec?.selector ?? {}).length > 0) return
  await ensureDnsRbac(client)
  await ensureDnsEndpointRole(client)
}

const fieldManager = 'k8ts-dns'

export const dnsService = { namespace: 'kube-system', name: 'kube-dns' }

/** Its key `Corefile` configures the DNS servers; it need not exist. */
export const dnsConfigMap = { namespace: 'kube-system', name: 'coredns' }

const labels = {
  'k8s-app': 'kube-dns',
  'kubernetes.io/cluster-service': 'true',
  'kubernetes.io/name': 'CoreDNS',
}

function serviceOf(clusterIp: string): Service {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...dnsService, labels },
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

export function dnsSliceOf(
  service: Stored<Service>,
  { name, address, port, nodeName }: DnsSliceOptions,
): EndpointSlice {
  const { uid } = service.metadata
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      namespace: dnsService.namespace,
      name,
      labels: {
        'kubernetes.io/service-name': dnsService.name,
        'endpointslice.kubernetes.io/managed-by': 'dns.k8ts',
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name: dnsService.name, uid }],
    },
    addressType: address.includes(':') ? 'IPv6' : 'IPv4',
    endpoints: [
      {
        addresses: [address],
        nodeName,
        conditions: { ready: true, serving: true, terminating: false },
        // Pods use the server of their own node; on a node without one, the hints match no endpoint and all are used.
        hints: { forNodes: [{ name: nodeName }] },
      },
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
  metadata: { namespace: dnsService.namespace, name: dnsServiceAccount },
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
  subjects: [{ kind: 'ServiceAccount', name: dnsServiceAccount, namespace: dnsService.namespace }],
}

/**
 * Lets DNS servers in processes of their own publish themselves (`dns-endpoint.ts`). Names cannot be restricted, since
 * each node has its own.
 */
export async function ensureDnsEndpointRole(client: Client): Promise<void> {
  await client.apply(roles, endpointRole, { fieldManager, force: true })
  await client.apply(roleBindings, bindingOf(endpointAt), { fieldManager, force: true })
}

const endpointAt = { namespace: dnsService.namespace, name: 'k8ts:dns-endpoints' }

const endpointRole: Role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: endpointAt,
  rules: [
    {
      apiGroups: ['discovery.k8s.io'],
      resources: ['endpointslices'],
      verbs: ['create', 'get', 'patch', 'delete'],
    },
    {
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      verbs: ['create', 'get', 'list', 'watch', 'update', 'delete'],
    },
  ],
}

const configurationAt = { namespace: dnsService.namespace, name: 'k8ts:dns-configuration' }

/** One ConfigMap, and events about it. */
const configurationRole: Role = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'Role',
  metadata: configurationAt,
  rules: [
    {
      apiGroups: [''],
      resources: ['configmaps'],
      resourceNames: [dnsConfigMap.name],
      verbs: ['get', 'list', 'watch'],
    },
    { apiGroups: [''], resources: ['events'], verbs: ['create'] },
  ],
}

function bindingOf(metadata: { readonly namespace: string; readonly name: string }): RoleBinding {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
    subjects: [{ kind: 'ServiceAccount', name: dnsServiceAccount, namespace: dnsService.namespace }],
  }
}
