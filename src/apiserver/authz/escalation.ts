/**
 * Privilege escalation prevention: writing a role, or binding one, requires holding all permissions it
 * grants, unless `escalate` or `bind` is allowed. Checked on every write of a role or binding, whatever
 * authorizers are configured.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
 */
import { forbidden, notFound, type ApiError, type ErrorSubject } from '#/api/errors.ts'
import type {
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  RoleBinding,
  RoleRef,
} from '#/api/generated/rbac/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { AdmissionAttributes } from '../admission/admission-chain.ts'
import type { UserInfo } from '../request.ts'
import { systemMastersGroup } from './always.ts'
import { aggregateErrors } from './authorizer-chain.ts'
import type { Authorizer } from './authorizer.ts'
import { describeRules, quoteList } from './rbac/describe-rules.ts'
import { uncoveredRules, TooManyRulesError } from './rbac/uncovered-rules.ts'
import type { Rule } from './rbac/rule-set.ts'
import type { RbacAuthorizer, ResolvedRules } from './rbac-authorizer.ts'

export interface EscalationOptions {
  readonly rbac: RbacAuthorizer
  /** The whole authorizer chain: `escalate` and `bind` may be allowed by any authorizer. */
  readonly authorizer: Authorizer
  /**
   * Waits until the cache contains all previous writes, because a role may be bound right after its creation.
   */
  readonly catchUp: () => Promise<void>
}

/**
 * Throws ApiError if the write would grant permissions that the user does not hold. Ignores resources other
 * than roles and bindings.
 */
export async function checkEscalation(
  options: EscalationOptions,
  request: AdmissionAttributes,
): Promise<void> {
  const { resource, operation, subresource, object, oldObject, user } = request
  if (resource.group !== rbacGroup || subresource !== '' || object === undefined) return
  if (operation !== 'CREATE' && operation !== 'UPDATE') return
  if (user.groups.includes(systemMastersGroup)) return
  if (oldObject !== undefined && isOnlyForCollection(object, oldObject)) return
  await options.catchUp()
  const { kind } = resource
  if (kind === 'Role' || kind === 'ClusterRole') await checkRole(options, request)
  else if (kind === 'RoleBinding' || kind === 'ClusterRoleBinding') await checkBinding(options, request)
}

const rbacGroup = 'rbac.authorization.k8s.io'

const fullAuthority: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

async function checkRole(
  { rbac, authorizer }: EscalationOptions,
  request: AdmissionAttributes,
): Promise<void> {
  const { user, namespace, resource, operation, name, oldObject } = request
  const { decision } = await authorizer.authorize({
    user,
    isResource: true,
    verb: 'escalate',
    group: rbacGroup,
    version: '*',
    namespace,
    resource: resource.plural,
    subresource: '',
    // A permission limited by resourceNames does not allow creation.
    name: operation === 'CREATE' ? '' : name,
  })
  if (decision === 'allow') return
  const role = request.object as ClusterRole
  const held = rbac.resolve(user, namespace)
  requireRules(request, held, role.rules ?? [])
  // An aggregated role can come to allow anything, so it requires full authority.
  const gathers = [role, oldObject as ClusterRole | undefined].some(each => {
    return each?.aggregationRule?.clusterRoleSelectors?.length
  })
  if (gathers && uncoveredRules(held.rules, fullAuthority).length > 0) {
    throw forbidden(subjectOf(request), 'must have cluster-admin privileges to use the aggregationRule')
  }
}

async function checkBinding(
  { rbac, authorizer }: EscalationOptions,
  request: AdmissionAttributes,
): Promise<void> {
  const { user, namespace } = request
  const { roleRef } = request.object as Partial<RoleBinding | ClusterRoleBinding>
  // Invalid references are rejected by validation.
  if (!roleRef?.name) return
  const plural = pluralOf(roleRef)
  if (plural === undefined) return
  const { apiGroup = rbacGroup, name } = roleRef
  const { decision } = await authorizer.authorize({
    user,
    isResource: true,
    verb: 'bind',
    group: apiGroup,
    version: '*',
    namespace,
    name,
    resource: plural,
    subresource: '',
  })
  if (decision === 'allow') return
  const rules = rbac.rulesOfRole(roleRef, namespace)
  if (rules === undefined) throw notFound({ group: rbacGroup, kind: plural, name })
  requireRules(request, rbac.resolve(user, namespace), rules)
}

function requireRules(request: AdmissionAttributes, held: ResolvedRules, wanted: readonly Rule[]): void {
  let missing: readonly PolicyRule[]
  try {
    missing = uncoveredRules(held.rules, wanted)
  } catch (error) {
    if (!(error instanceof TooManyRulesError)) throw error
    throw forbidden(subjectOf(request), error.message)
  }
  if (missing.length > 0) throw escalation(request, held, missing)
}

function escalation(
  request: AdmissionAttributes,
  { missing: lost }: ResolvedRules,
  rules: readonly PolicyRule[],
): ApiError {
  const problems = lost.map(roleRef => {
    return notFound({ group: rbacGroup, kind: pluralOf(roleRef) ?? roleRef.kind, name: roleRef.name }).message
  })
  return forbidden(
    subjectOf(request),
    `${describeUser(request.user)} is attempting to grant RBAC permissions not currently held:\n` +
      describeRules(rules) +
      (problems.length === 0 ? '' : `; resolution errors: [${aggregateErrors(problems)}]`),
  )
}

function describeUser({ username, groups }: UserInfo): string {
  return `user ${quote(username)} (groups=${quoteList(groups)})`
}

function pluralOf({ kind }: RoleRef): 'roles' | 'clusterroles' | undefined {
  if (kind === 'Role') return 'roles'
  return kind === 'ClusterRole' ? 'clusterroles' : undefined
}

function subjectOf({ resource, name }: AdmissionAttributes): ErrorSubject {
  return { group: rbacGroup, kind: resource.plural, ...(name && { name }) }
}

/**
 * Exempts the garbage collector, which changes only owner references and finalizers and need not hold the
 * role's permissions.
 */
function isOnlyForCollection(object: KubernetesObject, oldObject: KubernetesObject): boolean {
  return equalJson(withoutOwnership(object), withoutOwnership(oldObject))
}

function withoutOwnership({ metadata, ...rest }: KubernetesObject): object {
  const {
    ownerReferences: _owners,
    finalizers: _holds,
    selfLink: _link,
    managedFields: _fields,
    ...kept
  } = metadata
  return { ...rest, metadata: kept }
}
