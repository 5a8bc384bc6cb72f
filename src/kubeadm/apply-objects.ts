/** Creates or updates the objects of a phase by server-side apply, so that a phase can run again. */
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Role, RoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { roleBindings, roles } from '#/api/generated/rbac/v1-resources.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { nodeBootstrapTokenGroup } from './bootstrap-token.ts'

const fieldManager = 'kubeadm'

export async function applyObject<T extends KubernetesObject>(
  client: Client,
  resource: Resource<T>,
  object: Partial<T> & KubernetesObject,
): Promise<void> {
  await client.apply(resource, object, { fieldManager, force: true })
}

export interface ReaderRole {
  /** Of the Role and its RoleBinding. */
  readonly name: string
  readonly namespace: string
  /** Of the core group when absent. */
  readonly apiGroup?: string
  readonly resource: 'configmaps' | 'secrets' | 'endpointslices'
  /** The only object that may be read. */
  readonly resourceName: string
  /** Only `get` when absent. */
  readonly verbs?: readonly string[]
  readonly subjects: readonly Subject[]
}

/** A Role to read one object, and its binding. */
export async function applyReaderRole(client: Client, options: ReaderRole): Promise<void> {
  const { name, namespace, apiGroup = '', resource, resourceName, verbs = ['get'], subjects } = options
  const metadata = { name, namespace }
  const apiVersion = 'rbac.authorization.k8s.io/v1'
  const role: Role = {
    apiVersion,
    kind: 'Role',
    metadata,
    rules: [
      { apiGroups: [apiGroup], resources: [resource], resourceNames: [resourceName], verbs: [...verbs] },
    ],
  }
  const binding: RoleBinding = {
    apiVersion,
    kind: 'RoleBinding',
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
    subjects: [...subjects],
  }
  await applyObject(client, roles, role)
  await applyObject(client, roleBindings, binding)
}

export function groupSubject(name: string): Subject {
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name }
}

/** Machines that are joining, and nodes. */
export const nodesAndBootstrappers: readonly Subject[] = [
  groupSubject(nodeBootstrapTokenGroup),
  groupSubject('system:nodes'),
]
