/**
 * The default roles and bindings of Kubernetes v1.36 with default feature gates. Administrators, charts and
 * controllers rely on their names and rules.
 */
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
} from '#/api/generated/rbac/v1.ts'
import type { ObjectMeta } from '#/api/generated/meta/v1.ts'
import { componentRoles } from './bootstrap-roles/component-roles.ts'
import type { FeatureGate } from '../api-enablement.ts'
import { controllerRoles, gatedControllerRoles } from './bootstrap-roles/controller-roles.ts'
import { namespaceRoles } from './bootstrap-roles/component-roles.ts'
import { parseBinding, parseRules, type BindingTable } from './bootstrap-roles/notation.ts'
import { userRoles } from './bootstrap-roles/user-roles.ts'

/** Set to `false` to exclude a bootstrap role or binding from reconciliation. */
export const autoUpdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate'

export interface BootstrapRoles {
  readonly clusterRoles: readonly ClusterRole[]
  readonly clusterRoleBindings: readonly ClusterRoleBinding[]
  readonly roles: readonly Role[]
  readonly roleBindings: readonly RoleBinding[]
}

export function bootstrapRoles(featureGates: readonly FeatureGate[] = []): BootstrapRoles {
  const gated = featureGates.map(gate => gatedControllerRoles[gate])
  const controllers = Object.fromEntries([controllerRoles, ...gated].flatMap(roles => Object.entries(roles)))
  return {
    clusterRoles: [
      ...Object.entries({ ...userRoles, ...componentRoles }).map(([name, rules]) => clusterRole(name, rules)),
      ...aggregatedRoles.map(aggregatedRole),
      ...Object.entries(controllers).map(([name, rules]) => clusterRole(`system:controller:${name}`, rules)),
    ],
    clusterRoleBindings: [
      ...Object.entries(clusterRoleBindings).map(([name, subjects]) => clusterRoleBinding(name, subjects)),
      ...Object.keys(controllers).map(name => {
        return clusterRoleBinding(`system:controller:${name}`, `account=kube-system/${name}`)
      }),
    ],
    roles: Object.entries(namespaceRoles).map(([path, rules]) => role(path, rules)),
    roleBindings: Object.entries(namespaceRoleBindings).map(([path, subjects]) =>
      roleBinding(path, subjects),
    ),
  }
}

/** Rules of the system:node role, for requests that the node authorizer does not decide by object. */
export function nodeRules(): readonly PolicyRule[] {
  return parseRules(componentRoles['system:node'] ?? '')
}

const apiGroup = 'rbac.authorization.k8s.io'
const apiVersion = 'rbac.authorization.k8s.io/v1'

/** Aggregated roles; each is also aggregated into the one named in `partOf`. */
const aggregatedRoles: readonly AggregatedRole[] = [
  { name: 'admin' },
  { name: 'edit', partOf: 'admin' },
  { name: 'view', partOf: 'edit' },
]

interface AggregatedRole {
  readonly name: string
  readonly partOf?: string
}

function aggregatedRole({ name, partOf }: AggregatedRole): ClusterRole {
  return {
    kind: 'ClusterRole',
    apiVersion,
    metadata: metadataOf({ name }, partOf === undefined ? {} : aggregationLabel(partOf)),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregationLabel(name) }] },
    rules: [],
  }
}

function aggregationLabel(role: string): Readonly<Record<string, string>> {
  return { [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' }
}

function clusterRole(name: string, rules: string): ClusterRole {
  const [, aggregate] = /^system:aggregate-to-(\w+)$/.exec(name) ?? []
  const labels = aggregate === undefined ? {} : aggregationLabel(aggregate)
  return { kind: 'ClusterRole', apiVersion, metadata: metadataOf({ name }, labels), rules: parseRules(rules) }
}

function clusterRoleBinding(name: string, text: string): ClusterRoleBinding {
  const { subjects } = parseBinding(text)
  return {
    kind: 'ClusterRoleBinding',
    apiVersion,
    metadata: metadataOf({ name }),
    ...(subjects.length > 0 && { subjects }),
    roleRef: { apiGroup, kind: 'ClusterRole', name },
  }
}

function role(path: string, rules: string): Role {
  return { kind: 'Role', apiVersion, metadata: metadataOf(namesOf(path)), rules: parseRules(rules) }
}

function roleBinding(path: string, text: string): RoleBinding {
  const { namespace, name } = namesOf(path)
  const { name: bindingName = name, subjects } = parseBinding(text)
  return {
    kind: 'RoleBinding',
    apiVersion,
    metadata: metadataOf({ namespace, name: bindingName }),
    subjects,
    roleRef: { apiGroup, kind: 'Role', name },
  }
}

function namesOf(path: string): { readonly namespace: string; readonly name: string } {
  const slash = path.indexOf('/')
  return { namespace: path.slice(0, slash), name: path.slice(slash + 1) }
}

function metadataOf(
  names: Pick<ObjectMeta, 'name' | 'namespace'>,
  labels: Readonly<Record<string, string>> = {},
): ObjectMeta {
  return {
    ...names,
    annotations: { [autoUpdateAnnotation]: 'true' },
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  }
}

/**
 * Default bindings by role name, which is also the name of the binding. The bindings of controllers are
 * derived from their names.
 */
const clusterRoleBindings: BindingTable = {
  'cluster-admin': 'group=system:masters',
  // Not in Kubernetes. What is served depends on the rights of the user to the objects.
  'k8ts:history': 'group=system:authenticated',
  'system:basic-user': 'group=system:authenticated',
  'system:discovery': 'group=system:authenticated',
  'system:kube-controller-manager': 'user=system:kube-controller-manager',
  'system:kube-dns': 'account=kube-system/kube-dns',
  'system:kube-scheduler': 'user=system:kube-scheduler',
  'system:monitoring': 'group=system:monitoring',
  // No subjects: the node authorizer handles nodes, and a cluster without it may add them.
  'system:node': '',
  'system:node-proxier': 'user=system:kube-proxy',
  'system:public-info-viewer': 'group=system:authenticated group=system:unauthenticated',
  'system:service-account-issuer-discovery': 'group=system:serviceaccounts',
  'system:volume-scheduler': 'user=system:kube-scheduler',
}

/** Default bindings by namespace and role name; the binding has the same name unless another is given. */
const namespaceRoleBindings: BindingTable = {
  'kube-public/system:controller:bootstrap-signer': 'account=kube-system/bootstrap-signer',
  'kube-system/extension-apiserver-authentication-reader': `
    name=system::extension-apiserver-authentication-reader
    user=system:kube-controller-manager user=system:kube-scheduler
  `,
  'kube-system/system::leader-locking-kube-controller-manager': `
    user=system:kube-controller-manager
    account=kube-system/kube-controller-manager account=kube-system/leader-election-controller
  `,
  'kube-system/system::leader-locking-kube-scheduler': `
    user=system:kube-scheduler account=kube-system/kube-scheduler
  `,
  'kube-system/system:controller:bootstrap-signer': 'account=kube-system/bootstrap-signer',
  'kube-system/system:controller:cloud-provider': 'account=kube-system/cloud-provider',
  'kube-system/system:controller:token-cleaner': 'account=kube-system/token-cleaner',
}
