/** The users of the security tests, and the RBAC objects with their rights. */
import assert from 'node:assert/strict'
import type { UserInfo } from '#/api/transport.ts'
import type { TestServer } from '#/apiserver/test-server.ts'

function user(username: string, ...groups: readonly string[]): UserInfo {
  return { username, groups: [...groups, 'system:authenticated'] }
}

function account(namespace: string, name: string): UserInfo {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`]
  return user(`system:serviceaccount:${namespace}:${name}`, ...groups)
}

function node(name: string): UserInfo {
  return user(`system:node:${name}`, 'system:nodes')
}

/** The viewer reads every namespace; the editor and the owner have rights only in the namespace `team`. */
export const users = {
  administrator: user('root', 'system:masters'),
  viewer: user('vera'),
  editor: user('edith'),
  owner: user('olga'),
  nobody: user('niels'),
  anonymous: { username: 'system:anonymous', groups: ['system:unauthenticated'] },
  mine: node('mine'),
  monitor: user('prometheus', 'system:monitoring'),
  scheduler: user('system:kube-scheduler'),
  manager: user('system:kube-controller-manager'),
  proxy: user('system:kube-proxy'),
  pod: account('team', 'default'),
  deployments: account('kube-system', 'deployment-controller'),
  replicasets: account('kube-system', 'replicaset-controller'),
  statefulsets: account('kube-system', 'statefulset-controller'),
  jobs: account('kube-system', 'job-controller'),
  collector: account('kube-system', 'generic-garbage-collector'),
  namespaces: account('kube-system', 'namespace-controller'),
  quotas: account('kube-system', 'resourcequota-controller'),
  nodes: account('kube-system', 'node-controller'),
  endpoints: account('kube-system', 'endpointslice-controller'),
  claims: account('kube-system', 'persistent-volume-binder'),
  tokens: account('kube-system', 'token-cleaner'),
} satisfies Readonly<Record<string, UserInfo>>

const apiGroup = 'rbac.authorization.k8s.io'
const apiVersion = `${apiGroup}/v1`
const rbac = `/apis/${apiVersion}`

/** Bindings of the three user-facing roles, as URL and object. */
export const bindings: readonly (readonly [string, object])[] = [
  [
    `${rbac}/clusterrolebindings`,
    { kind: 'ClusterRoleBinding', apiVersion, metadata: { name: 'viewer' }, ...bind('view', 'vera') },
  ],
  [
    `${rbac}/namespaces/team/rolebindings`,
    { kind: 'RoleBinding', apiVersion, metadata: { name: 'editor' }, ...bind('edit', 'edith') },
  ],
  [
    `${rbac}/namespaces/team/rolebindings`,
    { kind: 'RoleBinding', apiVersion, metadata: { name: 'owner' }, ...bind('admin', 'olga') },
  ],
]

function bind(role: string, name: string): object {
  return {
    roleRef: { apiGroup, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup, kind: 'User', name }],
  }
}

/** Creates objects, and waits until the server's caches have them. */
export async function createObjects(
  { request }: Pick<TestServer, 'request'>,
  objects: readonly (readonly [string, object])[],
): Promise<void> {
  for (const [url, object] of objects) {
    const answer = await request('POST', url, object)
    assert.equal(answer.code, 201, `${url}: ${answer.text}`)
  }
  // A read waits until the caches include all previous writes.
  await request('GET', '/api/v1/namespaces')
}

export function namespace(name: string, labels: Readonly<Record<string, string>> = {}): object {
  return { kind: 'Namespace', apiVersion: 'v1', metadata: { name, labels } }
}

/** A pod with one container and the given fields. */
export function pod(name: string, spec: object = {}, metadata: object = {}): object {
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'main', image: 'registry.example/web:1' }], ...spec },
  }
}

export function secret(name: string, content = 'x'): object {
  return { kind: 'Secret', apiVersion: 'v1', metadata: { name }, stringData: { content } }
}

export function configMap(name: string): object {
  return { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name } }
}
