/**
 * RBAC objects of a new cluster in addition to the bootstrap policy: the API server's access to kubelets, and
 * read access to resource metrics for the view, edit and admin roles.
 */
import { isApiError } from '#/api/errors.ts'
import type { ClusterRole, ClusterRoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import type { Log } from '#/platform/platform.ts'
import { kubeletClient } from './identities.ts'

/**
 * Existing objects are left unchanged. An admission webhook that rejects an object must not prevent the start
 * of the cluster.
 */
export async function ensureRoleBindings(client: Client, log: Log): Promise<void> {
  await ensure(client, log, { resource: clusterRoleBindings, object: kubeletClientBinding })
  await ensure(client, log, { resource: clusterRoles, object: metricsReader })
}

interface Wanted<T extends KubernetesObject> {
  readonly resource: Resource<T>
  readonly object: T
}

async function ensure<T extends KubernetesObject>(
  client: Client,
  log: Log,
  { resource, object }: Wanted<T>,
): Promise<void> {
  try {
    await client.create(resource, object)
  } catch (error) {
    if (!isApiError(error)) throw error
    const { kind } = resource
    if (error.reason !== 'AlreadyExists')
      log.warn('Failed to create RBAC object', { kind, name: object.metadata.name, error })
  }
}

const kubeletClientBinding: ClusterRoleBinding = {
  metadata: { name: 'kubeadm:apiserver-kubelet-client' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: kubeletClient.commonName }],
}

/** As installed by metrics-server. */
const metricsReader: ClusterRole = {
  metadata: {
    name: 'system:aggregated-metrics-reader',
    labels: {
      'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
      'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
      'rbac.authorization.k8s.io/aggregate-to-view': 'true',
    },
  },
  rules: [{ apiGroups: ['metrics.k8s.io'], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] }],
}
