import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  RoleRef,
  Subject,
} from '#/api/generated/rbac/v1.ts'

export interface AccessQuestion {
  readonly verb: string
  /** Empty for the core group. */
  readonly group: string
  /** Plural, with the subresource: `pods/log`. */
  readonly resource: string
  /** Empty for requests about no single object, such as `list` and `create`. */
  readonly name: string
  /** Empty for cluster-scoped resources and for requests over all namespaces. */
  readonly namespace: string
}

export interface AccessObjects {
  readonly roles: readonly Role[]
  readonly clusterRoles: readonly ClusterRole[]
  readonly roleBindings: readonly RoleBinding[]
  readonly clusterRoleBindings: readonly ClusterRoleBinding[]
}

/** A subject that has the right, and why. */
export interface Grant {
  readonly subject: Subject
  readonly role: RoleRef
  readonly binding: {
    readonly kind: 'RoleBinding' | 'ClusterRoleBinding'
    /** Empty for a ClusterRoleBinding. */
    readonly namespace: string
    readonly name: string
  }
}

/**
 * Answers a question from roles and bindings by the rules of RBAC. Other authorizers, such as webhooks and the node
 * authorizer, may grant more. https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
export function whoCan(question: AccessQuestion, objects: AccessObjects): Grant[] {
  const { namespace } = question
  const rulesByRole = new Map<string, readonly PolicyRule[]>()
  for (const { metadata, rules = [] } of objects.clusterRoles)
    rulesByRole.set(`/${metadata?.name}`, rules ?? [])
  for (const { metadata, rules = [] } of objects.roles) {
    rulesByRole.set(`${metadata?.namespace}/${metadata?.name}`, rules ?? [])
  }
  const permits = ({ kind, name }: RoleRef, within: string): boolean => {
    const rules = rulesByRole.get(kind === 'Role' ? `${within}/${name}` : `/${name}`) ?? []
    return rules.some(rule => ruleAllows(rule, question))
  }
  const ofCluster = objects.clusterRoleBindings
    .filter(({ roleRef }) => permits(roleRef, ''))
    .flatMap(({ metadata, roleRef, subjects }) => {
      const binding = { kind: 'ClusterRoleBinding', namespace: '', name: metadata?.name ?? '' } as const
      return (subjects ?? []).map(subject => ({ subject, role: roleRef, binding }))
    })
  const ofNamespace = objects.roleBindings
    .filter(
      ({ metadata, roleRef }) =>
        namespace !== '' && metadata?.namespace === namespace && permits(roleRef, namespace),
    )
    .flatMap(({ metadata, roleRef, subjects }) => {
      const binding = { kind: 'RoleBinding', namespace, name: metadata?.name ?? '' } as const
      return (subjects ?? []).map(subject => ({ subject, role: roleRef, binding }))
    })
  return [...ofCluster, ...ofNamespace].sort((left, right) => (sortKey(left) < sortKey(right) ? -1 : 1))
}

/** True if a rule permits the request. */
export function ruleAllows(
  { verbs, apiGroups = [], resources = [], resourceNames = [] }: PolicyRule,
  { verb, group, resource, name }: AccessQuestion,
): boolean {
  return (
    includesOrAll(verbs, verb) &&
    includesOrAll(apiGroups, group) &&
    (includesOrAll(resources, resource) || includesSubresource(resources, resource)) &&
    (resourceNames.length === 0 || resourceNames.includes(name))
  )
}

function includesOrAll(allowed: readonly string[], wanted: string): boolean {
  return allowed.includes('*') || allowed.includes(wanted)
}

/** `*` + `/scale` is the subresource of any resource. */
function includesSubresource(resources: readonly string[], resource: string): boolean {
  const slash = resource.indexOf('/')
  return slash !== -1 && resources.includes(`*${resource.slice(slash)}`)
}

function sortKey({ subject: { kind, namespace = '', name } }: Grant): string {
  return `${kind} ${namespace} ${name}`
}
