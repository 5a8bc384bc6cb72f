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
import { quote } from '#/api/quote.ts'
import type { ObjectCache } from '../../registry/object-cache.ts'
import { keyOf, prefixOf } from '../../registry/store-keys.ts'
import type { StoredObject } from '../../registry/stored-object.ts'
import type { UserInfo } from '../../request.ts'
import type { Authorization, PathAttributes, ResourceAttributes } from '../authorizer.ts'
import { CacheIndex } from '../cache-index.ts'
import { RuleSet, type Rule } from './rule-set.ts'

/** A role granted to one subject of a binding. */
export interface Grant {
  /** Store key of the binding. */
  readonly key: string
  readonly roleRef: RoleRef
  /** Store key of the role. */
  readonly roleKey: string
  /** The decision if the role allows the request. */
  readonly allowed: Authorization
}

export class PolicyIndex {
  /** By namespace; the empty one is cluster-wide. */
  readonly #bindings: CacheIndex<Map<string, Scope>>
  /** By store key of the role. */
  readonly #roles: CacheIndex<Map<string, LazyRuleSet>>

  constructor(cache: ObjectCache) {
    this.#bindings = new CacheIndex<Map<string, Scope>>({
      cache,
      prefixes: [prefixOf(clusterRoleBindings, ''), prefixOf(roleBindings, '')],
      empty: () => new Map(),
      add: (scopes, stored) => changeScopes(scopes, stored, addGrant),
      remove: (scopes, stored) => changeScopes(scopes, stored, removeGrant),
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
  find({ username, groups }: UserInfo, namespace: string, attributes: Action): Grant | undefined {
    const scopes = this.#bindings.current
    for (const scope of namespace === '' ? [''] : ['', namespace]) {
      const bindings = scopes.get(scope)
      if (bindings === undefined) continue
      const grant = this.#findIn(bindings.users.get(username), attributes)
      if (grant) return grant
      for (const group of groups) {
        const found = this.#findIn(bindings.groups.get(group), attributes)
        if (found) return found
      }
    }
    return undefined
  }

  /** All grants of a user, one per binding: cluster-wide first, sorted by key. */
  grantsOf({ username, groups }: UserInfo, namespace: string): readonly Grant[] {
    const scopes = this.#bindings.current
    return (namespace === '' ? [''] : ['', namespace]).flatMap(scope => {
      const bindings = scopes.get(scope)
      if (bindings === undefined) return []
      const byKey = new Map(bindings.users.get(username))
      for (const group of groups)
        for (const [key, grant] of bindings.groups.get(group) ?? []) byKey.set(key, grant)
      return [...byKey.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
    })
  }

  /** Undefined if the role does not exist. */
  rulesOf({ roleKey }: Pick<Grant, 'roleKey'>): readonly Rule[] | undefined {
    return this.#roles.current.get(roleKey)?.current.rules
  }

  #findIn(grants: ReadonlyMap<string, Grant> | undefined, attributes: Action): Grant | undefined {
    if (grants === undefined) return undefined
    const ruleSets = this.#roles.current
    for (const grant of grants.values()) {
      if (ruleSets.get(grant.roleKey)?.current.allows(attributes)) return grant
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
    this.#made ??= new RuleSet((this.#stored.object as ClusterRole).rules ?? [])
    return this.#made
  }
}

/** Grants of one namespace, by subject name and binding key. */
interface Scope {
  readonly users: Map<string, Map<string, Grant>>
  readonly groups: Map<string, Map<string, Grant>>
}

type Change = (subjects: Map<string, Map<string, Grant>>, name: string, makeGrant: () => Grant) => void

function changeScopes(scopes: Map<string, Scope>, stored: StoredObject, change: Change): void {
  const binding = stored.object as RoleBinding | ClusterRoleBinding
  const namespace = binding.metadata?.namespace ?? ''
  const scope = scopes.get(namespace) ?? { users: new Map(), groups: new Map() }
  for (const subject of binding.subjects ?? []) {
    const makeGrant = (): Grant => grantOf(stored.key, binding, subject)
    if (subject.kind === 'Group') change(scope.groups, subject.name, makeGrant)
    const username = usernameOf(subject, namespace)
    if (username !== undefined) change(scope.users, username, makeGrant)
  }
  if (scope.users.size + scope.groups.size > 0) scopes.set(namespace, scope)
  else scopes.delete(namespace)
}

/** Idempotent if a binding lists a subject twice. */
function addGrant(subjects: Map<string, Map<string, Grant>>, name: string, makeGrant: () => Grant): void {
  const grant = makeGrant()
  const grants = subjects.get(name)
  if (grants === undefined) subjects.set(name, new Map([[grant.key, grant]]))
  else if (!grants.has(grant.key)) grants.set(grant.key, grant)
}

function removeGrant(subjects: Map<string, Map<string, Grant>>, name: string, makeGrant: () => Grant): void {
  const grants = subjects.get(name)
  grants?.delete(makeGrant().key)
  if (grants?.size === 0) subjects.delete(name)
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

function grantOf(key: string, binding: RoleBinding | ClusterRoleBinding, subject: Subject): Grant {
  const { roleRef, metadata: { name = '', namespace = '' } = {} } = binding
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
