/**
 * RBAC objects of a new cluster in addition to the bootstrap policy: the API server's access to kubelets, read
 * access to resource metrics for the view, edit and admin roles, the rights of the controller that approves
 * serving certificates of kubelets, those of the nodes to enforce network policies, and the TLS bootstrapping of nodes
 * that join.
 */
import { isApiError } from '#/api/errors.ts'
import type { ClusterRole, ClusterRoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import type { Log } from '#/platform/platform.ts'
import { nodeBootstrapTokenGroup } from './bootstrap-token.ts'
import { kubeletClient, kubeProxy } from './identities.ts'

/**
 * Existing objects are left unchanged. An admission webhook that rejects an object must not prevent the start
 * of the cluster.
 */
export async function ensureRoleBindings(client: Client, log: Log): Promise<void> {
  await ensure(client, log, { resource: clusterRoleBindings, object: kubeletClientBinding })
  await ensure(client, log, { resource: clusterRoles, object: metricsReader })
  await ensure(client, log, { resource: clusterRoles, object: networkPolicyRole })
  await ensure(client, log, { resource: clusterRoleBindings, object: networkPolicyBinding })
  await ensureApprover(client, log, {
    account: 'kubelet-serving-certificate-approver',
    signerName: 'kubernetes.io/kubelet-serving',
  })
}

/**
 * Lets nodes join with a bootstrap token: they may request client certificates, which are approved automatically as
 * are the renewals of all nodes, and get Node objects, to detect a name that is in use.
 * https://kubernetes.io/docs/reference/setup-tools/kubeadm/implementation-details/
 */
export async function ensureTlsBootstrapRoleBindings(client: Client, log: Log): Promise<void> {
  await ensure(client, log, { resource: clusterRoles, object: nodeGetter })
  await ensureApprover(client, log, {
    account: 'kube-proxy-certificate-approver',
    signerName: 'kubernetes.io/kube-apiserver-client',
  })
  for (const object of tlsBootstrapBindings)
    await ensure(client, log, { resource: clusterRoleBindings, object })
}

/** With its name, which the API type allows to be absent. */
type Named<T> = T & { readonly metadata: { readonly name: string } }

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

interface Grant {
  /** Name of the ClusterRole. */
  readonly role: string
  readonly subject: Subject
}

function bindingOf(name: string, { role, subject }: Grant): Named<ClusterRoleBinding> {
  const apiGroup = 'rbac.authorization.k8s.io'
  const isAccount = subject.kind === 'ServiceAccount'
  return {
    metadata: { name },
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [isAccount ? subject : { apiGroup, ...subject }],
  }
}

const kubeletClientBinding = bindingOf('kubeadm:apiserver-kubelet-client', {
  role: 'system:kubelet-api-admin',
  subject: { kind: 'User', name: kubeletClient.commonName },
})

const networkPolicyRole: Named<ClusterRole> = {
  metadata: { name: 'k8ts:network-policy' },
  rules: [
    { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['pods', 'namespaces'], verbs: ['list', 'watch'] },
  ],
}

const networkPolicyBinding = bindingOf(networkPolicyRole.metadata.name, {
  role: networkPolicyRole.metadata.name,
  subject: { kind: 'User', name: kubeProxy.commonName },
})

interface Approver {
  /** Service account of the controller. */
  readonly account: string
  readonly signerName: string
}

/** Kubernetes has roles for these signers, but no controllers that approve for them. */
async function ensureApprover(client: Client, log: Log, { account, signerName }: Approver): Promise<void> {
  const name = `k8ts:${account}`
  const object: Named<ClusterRole> = {
    metadata: { name },
    rules: [
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: [signerName],
        verbs: ['approve'],
      },
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests/approval'],
        verbs: ['update'],
      },
      { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
    ],
  }
  await ensure(client, log, { resource: clusterRoles, object })
  const subject = { kind: 'ServiceAccount', namespace: 'kube-system', name: account }
  await ensure(client, log, {
    resource: clusterRoleBindings,
    object: bindingOf(name, { role: name, subject }),
  })
}

const nodeGetter: Named<ClusterRole> = {
  metadata: { name: 'kubeadm:get-nodes' },
  rules: [{ apiGroups: [''], resources: ['nodes'], verbs: ['get'] }],
}

const joiningNodes: Subject = { kind: 'Group', name: nodeBootstrapTokenGroup }

const tlsBootstrapBindings: readonly ClusterRoleBinding[] = [
  bindingOf('kubeadm:get-nodes', { role: nodeGetter.metadata.name, subject: joiningNodes }),
  bindingOf('kubeadm:kubelet-bootstrap', { role: 'system:node-bootstrapper', subject: joiningNodes }),
  bindingOf('kubeadm:node-autoapprove-bootstrap', {
    role: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
    subject: joiningNodes,
  }),
  bindingOf('kubeadm:node-autoapprove-certificate-rotation', {
    role: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    subject: { kind: 'Group', name: 'system:nodes' },
  }),
]

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
