/** The phases `mark-control-plane` and `addon` of `init`, and the rights of the administrators. */
import { isApiError } from '#/api/errors.ts'
import { configMaps, nodes, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { Node, Taint } from '#/api/generated/core/v1.ts'
import type { ClusterRoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings } from '#/api/generated/rbac/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { Client } from '#/client/client.ts'
import { clusterAdminsGroup } from './identities.ts'
import type { PodNetworkBackend } from './host-processes.ts'
import type { InitSettings } from './init-settings.ts'
import { applyObject, applyReaderRole, groupSubject, nodesAndBootstrappers } from './apply-objects.ts'

const controlPlaneLabels = {
  'node-role.kubernetes.io/control-plane': '',
  'node.kubernetes.io/exclude-from-external-load-balancers': '',
}

export interface MarkControlPlaneOptions {
  readonly nodeName: string
  readonly taints: readonly Taint[]
}

/** Rejects with NotFound until the kubelet has registered the node. */
export async function markControlPlane(
  client: Client,
  { nodeName, taints }: MarkControlPlaneOptions,
): Promise<void> {
  for (;;) {
    const node = await client.get(nodes, { name: nodeName })
    try {
      await client.update(nodes, planControlPlaneNode(node, taints))
      return
    } catch (error) {
      if (!isApiError(error, 'Conflict')) throw error
    }
  }
}

/** Existing taints stay, such as that of a node that is not ready. */
function planControlPlaneNode(node: Stored<Node>, taints: readonly Taint[]): Stored<Node> {
  const existing = node.spec?.taints ?? []
  const isKnown = ({ key, effect }: Taint): boolean =>
    taints.some(taint => taint.key === key && taint.effect === effect)
  return {
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...controlPlaneLabels } },
    spec: { ...node.spec, taints: [...taints, ...existing.filter(each => !isKnown(each))] },
  }
}

/** Must be called by a super-administrator: RBAC allows no other user to grant all rights. */
export async function bindClusterAdmins(client: Client): Promise<void> {
  await applyObject(client, clusterRoleBindings, {
    ...clusterRoleBinding(clusterAdminsGroup, 'cluster-admin'),
    subjects: [groupSubject(clusterAdminsGroup)],
  })
}

/** The balancer of each host follows the API servers with the identity of the node. */
export async function applyApiServersReader(client: Client): Promise<void> {
  await applyReaderRole(client, {
    name: 'k8ts:api-servers',
    namespace: 'default',
    apiGroup: 'discovery.k8s.io',
    resource: 'endpointslices',
    resourceName: 'kubernetes',
    verbs: ['get', 'list', 'watch'],
    subjects: [groupSubject('system:nodes')],
  })
}

/** The configuration of the service proxy and of the pod network of all nodes, and the rights of the proxy. */
export async function applyProxyAddon(
  client: Client,
  { podSubnets }: InitSettings,
  podNetwork: PodNetworkBackend,
): Promise<void> {
  const at = { namespace: 'kube-system', name: 'kube-proxy' }
  const text = stringifyYaml({
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    mode: 'nftables',
    ...(podSubnets.length > 0 && { clusterCIDR: podSubnets.join() }),
  })
  await applyObject(client, serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: at })
  await applyObject(client, configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...at, labels: { app: 'kube-proxy' } },
    data: { 'config.conf': text, 'pod-network': podNetwork },
  })
  await applyReaderRole(client, {
    ...at,
    resource: 'configmaps',
    resourceName: at.name,
    subjects: nodesAndBootstrappers,
  })
  await applyObject(client, clusterRoleBindings, {
    ...clusterRoleBinding('kubeadm:node-proxier', 'system:node-proxier'),
    subjects: [{ kind: 'ServiceAccount', ...at }],
  })
}

function clusterRoleBinding(name: string, role: string): ClusterRoleBinding {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  }
}
