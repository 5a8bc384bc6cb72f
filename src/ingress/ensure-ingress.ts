/**
 * The API objects of the Ingress controller: its IngressClass, and the RBAC rules of its service account.
 * Idempotent.
 */
import type { ServiceAccount } from '#/api/generated/core/v1.ts'
import { serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import type { IngressClass } from '#/api/generated/networking/v1.ts'
import { ingressClasses } from '#/api/generated/networking/v1-resources.ts'
import type { ClusterRole, ClusterRoleBinding } from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import type { Client } from '#/client/client.ts'
import { ingressClassName, ingressControllerName } from './plan-ingresses.ts'

/** The service account of the Ingress controller, in `kube-system`. */
export const ingressServiceAccount = 'k8ts-ingress'

/**
 * Created once and then left to the user, who may make another class the default one. While there is another
 * default class, that one stays the only one.
 */
export async function ensureIngressClass(client: Client): Promise<void> {
  const { items } = await client.listAll(ingressClasses)
  if (items.some(({ metadata }) => metadata.name === ingressClassName)) return
  const hasDefault = items.some(({ metadata }) => metadata.annotations?.[defaultClassAnnotation] === 'true')
  const annotations = { [defaultClassAnnotation]: 'true' }
  const ingressClass: IngressClass = {
    metadata: { name: ingressClassName, ...(!hasDefault && { annotations }) },
    spec: { controller: ingressControllerName },
  }
  try {
    await client.create(ingressClasses, ingressClass)
  } catch (error) {
    if (!isApiError(error, 'AlreadyExists')) throw error
  }
}

const defaultClassAnnotation = 'ingressclass.kubernetes.io/is-default-class'

export async function ensureIngressRbac(client: Client): Promise<void> {
  await client.apply(serviceAccounts, account, { fieldManager, force: true })
  await client.apply(clusterRoles, role, { fieldManager, force: true })
  await client.apply(clusterRoleBindings, binding, { fieldManager, force: true })
}

const fieldManager = 'k8ts-ingress'

const account: ServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { namespace: 'kube-system', name: ingressServiceAccount },
}

const role: ClusterRole = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'k8ts:ingress' },
  rules: [
    { apiGroups: [''], resources: ['services'], verbs: ['list', 'watch'] },
    // Of the secrets that Ingresses refer to; RBAC cannot know their names.
    { apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch'] },
    {
      apiGroups: ['networking.k8s.io'],
      resources: ['ingresses', 'ingressclasses'],
      verbs: ['list', 'watch'],
    },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['patch'] },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ],
}

const binding: ClusterRoleBinding = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'k8ts:ingress' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'k8ts:ingress' },
  subjects: [{ kind: 'ServiceAccount', name: ingressServiceAccount, namespace: 'kube-system' }],
}
