/** The RBAC rules of the Gateway controller, for the service account whose process runs it. Idempotent. */
import type { ClusterRole, ClusterRoleBinding, PolicyRule } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import type { Client } from '#/client/client.ts'

export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

export async function ensureGatewayRbac(client: Client, account: ServiceAccountName): Promise<void> {
  await client.apply(clusterRoles, role, { fieldManager, force: true })
  const subjects = [{ kind: 'ServiceAccount', ...account }]
  await client.apply(clusterRoleBindings, { ...binding, subjects }, { fieldManager, force: true })
}

const fieldManager = 'k8ts-gateway'

const metadata = { name: 'k8ts:gateway' }

const binding: ClusterRoleBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata,
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
}

const read = ['get', 'list', 'watch']

const gatewayControllerRules: readonly PolicyRule[] = [
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: read },
  {
    apiGroups: ['gateway.networking.k8s.io'],
    resources: [
      'gatewayclasses',
      'gateways',
      'httproutes',
      'grpcroutes',
      'referencegrants',
      'backendtlspolicies',
    ],
    verbs: read,
  },
  {
    apiGroups: ['gateway.networking.k8s.io'],
    resources: [
      'gatewayclasses/status',
      'gateways/status',
      'httproutes/status',
      'grpcroutes/status',
      'backendtlspolicies/status',
    ],
    verbs: ['update'],
  },
  // An owner reference that blocks the deletion of its owner needs this right.
  { apiGroups: ['gateway.networking.k8s.io'], resources: ['gateways/finalizers'], verbs: ['update'] },
  { apiGroups: [''], resources: ['services/finalizers'], verbs: ['update'] },
  { apiGroups: [''], resources: ['namespaces', 'secrets', 'configmaps'], verbs: read },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: [''], resources: ['services'], verbs: [...read, 'create', 'update', 'patch', 'delete'] },
  {
    apiGroups: ['discovery.k8s.io'],
    resources: ['endpointslices'],
    verbs: [...read, 'create', 'patch', 'delete'],
  },
]

const role: ClusterRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata,
  rules: gatewayControllerRules,
}
