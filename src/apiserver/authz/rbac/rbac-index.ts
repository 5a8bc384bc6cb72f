/**
 * Index of role bindings by subject, and of roles. Built on first use and updated with the cache, so a
 * changed role or binding takes effect as soon as the cache has received it.
 */
import type {
  ClusterRole,
  ClusterRoleBinding,
  RoleBinding,
  RoleRef,
  Subject,
} from '#/api/generated/rbac/v1.ts'
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '#/api/generated/rbac/v1-resources.ts'
import { quote } from '#/api/text/quote.ts'
import type { Stored } from '#/api/metadata.ts'
import type { ObjectCache } from '../../registry/watch-cache.ts'
import { keyOf, prefixOf } from '../../registry/store-keys.ts'
import type { StoredObject } from '../../registry/stored-object.ts'
import type { UserInfo } from '../../request.ts'
import type { Authorization, PathAttributes, ResourceAttributes } from '../authorizer.ts'
import { CacheIndex } from '../cache-index.ts'
import { RuleSet, type Rule } from './rule-set.ts'

/** A role granted to one subject of a binding. */
export interface BoundRole {
  /** Store key of the binding. */
  readonly key: string
  readonly roleRef: RoleRef
  /** Store key of the role. */
  readonly roleKey: string
  /** The decision if the role allows the request. */
  readonly allowed: Authorization
}

export class RbacIndex {
  /** By namespace; the empty one is cluster-wide. */
  readonly #bindings: CacheIndex<Map<string, Scope>>
  /** By store key of the role. */
  readonly #roles: CacheIndex<Map<string, LazyRuleSet>>

  constructor(cache: ObjectCache) {
    this.#bindings = new CacheIndex<Map<string, Scope>>({
      cache,
      prefixes: [prefixOf(clusterRoleBindings, ''), prefixOf(roleBindings, '')],
      empty: () => new Map(),
      add: (scopes, stored) => changeScopes(scopes, stored, addBoundRole),
      remove: (scopes, stored) => changeScopes(scopes, stored, removeBoundRole),
    })
    this.#roles = new CacheIndex<Map<string, LazyRuleSet>>({
      cache,
      prefixes: [prefixOf(clusterRoles, ''), prefixOf(roles, '')],
      empty: () => new Map(),
      add: (ruleSets, stored) => ruleSets.set(stored.key, new LazyRuleSet(stored)),
      remove: (ruleSets, { key }) => ruleSets.delete(key),
    })
  }

  /** The first grant that allows the action, cluster-wide or in the namespace. */
  find({ username, groups }: UserInfo, namespace: string, attributes: Action): BoundRole | undefined {
    const scopes = this.#bindings.current
    for (const scope of namespace === '' ? [''] : ['', namespace]) {
      const bindings = scopes.get(scope)
      if (bindings === undefined) continue
      const boundRole = this.#findIn(bindings.users.get(username), attributes)
      if (boundRole) return boundRole
      for (const group of groups) {
        const found = this.#findIn(bindings.groups.get(group), attributes)
        if (found) return found
      }
    }
    return undefined
  }

  /** All grants of a user, one per binding: cluster-wide first, sorted by key. */
  boundRolesOf({ username, groups }: UserInfo, namespace: string): readonly BoundRole[] {
    const scopes = this.#bindings.current
    return (namespace === '' ? [''] : ['', namespace]).flatMap(scope => {
      const bindings = scopes.get(scope)
      if (bindings === undefined) return []
      const byKey = new Map(bindings.users.get(username))
      for (const group of groups)
        for (const [key, boundRole] of bindings.groups.get(group) ?? []) byKey.set(key, boundRole)
      return [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    })
  }

  /** Undefined if the role does not exist. */
  rulesOf({ roleKey }: Pick<BoundRole, 'roleKey'>): readonly Rule[] | undefined {
    return this.#roles.current.get(roleKey)?.current.rules
  }

  #findIn(boundRoles: ReadonlyMap<string, BoundRole> | undefined, attributes: Action): BoundRole | undefined {
    if (boundRoles === undefined) return undefined
    const ruleSets = this.#roles.current
    for (const boundRole of boundRoles.values()) {
      if (ruleSets.get(boundRole.roleKey)?.current.allows(attributes)) return boundRole
    }
    return undefined
  }
}

type Action = ResourceAttributes | PathAttributes

/** Compiled on first use. */
class LazyRuleSet {
  readonly #stored: StoredObject
  #made: RuleSet | undefined

  constructor(stored: StoredObject) {
    this.#stored = stored
  }

  get current(): RuleSet {
    this.#made ??= new RuleSet((this.#stored.object as Stored<ClusterRole>).rules ?? [])
    return this.#made
  }
}

/** Grants of one namespace, by subject name and binding key. */
interface Scope {
  readonly users: Map<string, Map<string, BoundRole>>
  readonly groups: Map<string, Map<string, BoundRole>>
}

type Change = (
  subjects: Map<string, Map<string, BoundRole>>,
  name: string,
  makeBoundRole: () => BoundRole,
) => void

function changeScopes(scopes: Map<string, Scope>, stored: StoredObject, change: Change): void {
  const binding = stored.object as Stored<RoleBinding | ClusterRoleBinding>
  const namespace = binding.metadata.namespace ?? ''
  const scope = scopes.get(namespace) ?? { users: new Map(), groups: new Map() }
  for (const subject of binding.subjects ?? []) {
    const makeBoundRole = (): BoundRole => grantOf(stored.key, binding, subject)
    if (subject.kind === 'Group') change(scope.groups, subject.name, makeBoundRole)
    const username = usernameOf(subject, namespace)
    if (username !== undefined) change(scope.users, username, makeBoundRole)
  }
  if (scope.users.size + scope.groups.size > 0) scopes.set(namespace, scope)
  else scopes.delete(namespace)
}

/** Idempotent if a binding lists a subject twice. */
function addBoundRole(
  subjects: Map<string, Map<string, BoundRole>>,
  name: string,
  makeBoundRole: () => BoundRole,
): void {
  const boundRole = makeBoundRole()
  const boundRoles = subjects.get(name)
  if (boundRoles === undefined) subjects.set(name, new Map([[boundRole.key, boundRole]]))
  else if (!boundRoles.has(boundRole.key)) boundRoles.set(boundRole.key, boundRole)
}

function removeBoundRole(
  subjects: Map<string, Map<string, BoundRole>>,
  name: string,
  makeBoundRole: () => BoundRole,
): void {
  const boundRoles = subjects.get(name)
  boundRoles?.delete(makeBoundRole().key)
  if (boundRoles?.size === 0) subjects.delete(name)
}

/**
 * The user name of a User or ServiceAccount subject; the namespace of a service account defaults to that of
 * the binding.
 */
function usernameOf(subject: Subject, bindingNamespace: string): string | undefined {
  if (subject.kind === 'User') return subject.name
  const namespace = subject.namespace || bindingNamespace
  if (subject.kind !== 'ServiceAccount' || namespace === '') return undefined
  return `system:serviceaccount:${namespace}:${subject.name}`
}

function grantOf(
  key: string,
  binding: Stored<RoleBinding | ClusterRoleBinding>,
  subject: Subject,
): BoundRole {
  const {
    roleRef,
    metadata: { name, namespace = '' },
  } = binding
  const bound =
    namespace === '' ? `ClusterRoleBinding ${quote(name)}` : `RoleBinding ${quote(`${name}/${namespace}`)}`
  const home = subject.namespace || namespace
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${home}` : subject.name
  const role = `${roleRef.kind} ${quote(roleRef.name)}`
  const reason = `RBAC: allowed by ${bound} of ${role} to ${subject.kind} ${quote(who)}`
  return { key, roleRef, roleKey: roleKeyOf(roleRef, namespace), allowed: { decision: 'allow', reason } }
}

/** Store key of the referenced role; empty if the reference is invalid. */
export function roleKeyOf({ kind, name }: RoleRef, bindingNamespace: string): string {
  if (kind === 'ClusterRole') return keyOf(clusterRoles, '', name)
  return kind === 'Role' && bindingNamespace !== '' ? keyOf(roles, bindingNamespace, name) : ''
}
