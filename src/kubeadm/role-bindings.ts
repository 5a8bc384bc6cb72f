/** Who has a role in a new cluster beside those who have one in all: the API server, where it goes to kubelets. */
import { isApiError } from '#/api/errors.ts'
import type { ClusterRoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings } from '#/api/generated/rbac/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Log } from '#/platform/platform.ts'
import { kubeletClient } from './identities.ts'

/**
 * What is there already stays as its owner left it. A webhook that refuses it must not keep the cluster from starting.
 */
export async function ensureRoleBindings(client: Client, log: Log): Promise<void> {
  try {
    await client.create(clusterRoleBindings, kubeletClientBinding)
  } catch (error) {
    if (!isApiError(error)) throw error
    if (error.reason !== 'AlreadyExists') log.warn('the API server has no role with kubelets', { error })
  }
}

const kubeletClientBinding: ClusterRoleBinding = {
  metadata: { name: 'kubeadm:apiserver-kubelet-client' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: kubeletClient.commonName }],
}
