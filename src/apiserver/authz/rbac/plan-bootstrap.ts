/**
 * What must be written so that a cluster has the bootstrap roles and bindings: what is missing is added, what
 * somebody added stays. Whoever sets the annotation to `false` keeps an object as it is.
 */
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { autoUpdateAnnotation, type BootstrapRoles } from '../bootstrap-roles.ts'
import { withAggregatedRules } from './aggregation.ts'
import { missingRules } from './missing-rules.ts'

export type RbacObject = ClusterRole | ClusterRoleBinding | Role | RoleBinding

/** Replacing is deleting and creating: the role of a binding cannot be changed. */
export interface BootstrapStep {
  readonly action: 'create' | 'update' | 'replace'
  readonly object: RbacObject
}

/** The objects that exist, by `keyOf`. */
export interface ExistingRoles {
  readonly clusterRoles: ReadonlyMap<string, ClusterRole>
  readonly clusterRoleBindings: ReadonlyMap<string, ClusterRoleBinding>
  readonly roles: ReadonlyMap<string, Role>
  readonly roleBindings: ReadonlyMap<string, RoleBinding>
}

export function planBootstrap(wanted: BootstrapRoles, existing: ExistingRoles): readonly BootstrapStep[] {
  const { clusterRoles, clusterRoleBindings, roles, roleBindings } = existing
  return [
    ...planClusterRoles(wanted.clusterRoles, clusterRoles),
    ...wanted.roles.flatMap(role => planObject(roles, role, reconcileRole)),
    ...wanted.clusterRoleBindings.flatMap(binding =>
      planObject(clusterRoleBindings, binding, reconcileBinding),
    ),
    ...wanted.roleBindings.flatMap(binding => planObject(roleBindings, binding, reconcileBinding)),
  ]
}

/** Where an object is among those of its kind. */
export function nameKey({ metadata }: RbacObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`
}

/** Roles that gather others have their rules at once: no controller needs to have seen them. */
function planClusterRoles(
  wanted: readonly ClusterRole[],
  existing: ReadonlyMap<string, ClusterRole>,
): BootstrapStep[] {
  const reconciled = new Map(existing)
  for (const role of wanted) {
    const before = existing.get(nameKey(role))
    reconciled.set(nameKey(role), before ? reconcileRole(before, role) : role)
  }
  return [...withAggregatedRules(reconciled)].flatMap(([key, role]): BootstrapStep[] => {
    const before = existing.get(key)
    if (before === role) return []
    return [{ action: before ? 'update' : 'create', object: role }]
  })
}

function planObject<T extends RbacObject>(
  existing: ReadonlyMap<string, T>,
  wanted: T,
  reconcile: (before: T, wanted: T) => T,
): BootstrapStep[] {
  const before = existing.get(nameKey(wanted))
  if (before === undefined) return [{ action: 'create', object: wanted }]
  const object = reconcile(before, wanted)
  if (object === before) return []
  return [{ action: object === wanted ? 'replace' : 'update', object }]
}

/** The very same object when nothing is missing. */
function reconcileRole<T extends ClusterRole | Role>(before: T, wanted: T): T {
  if (isProtected(before)) return before
  const missing = missingRules(before.rules ?? [], wanted.rules ?? [])
  const { aggregationRule: gathers, ...rest } = withMetadataOf(before, wanted) as ClusterRole
  const gathered = aggregationOf(gathers, (wanted as ClusterRole).aggregationRule)
  const object = {
    ...rest,
    ...(missing.length > 0 && { rules: [...(before.rules ?? []), ...missing] }),
    ...(gathered && { aggregationRule: gathered }),
  } as T
  return equalJson(object, before) ? before : object
}

/** The bootstrap role's selectors and those added to them; none when the bootstrap role gathers nothing. */
function aggregationOf(
  before: ClusterRole['aggregationRule'],
  wanted: ClusterRole['aggregationRule'],
): ClusterRole['aggregationRule'] {
  if (wanted === undefined) return undefined
  const { clusterRoleSelectors: has = [] } = before ?? {}
  const missing = (wanted.clusterRoleSelectors ?? []).filter(selector => {
    return !has.some(each => equalJson(each, selector))
  })
  return before && missing.length === 0 ? before : { ...before, clusterRoleSelectors: [...has, ...missing] }
}

/** The wanted object itself when the binding is for another role. */
function reconcileBinding<T extends ClusterRoleBinding | RoleBinding>(before: T, wanted: T): T {
  if (isProtected(before)) return before
  if (!equalJson(before.roleRef, wanted.roleRef)) return wanted
  const { subjects = [] } = before
  const missing = (wanted.subjects ?? []).filter(subject => !subjects.some(each => isSame(each, subject)))
  const object = {
    ...withMetadataOf(before, wanted),
    ...(missing.length > 0 && { subjects: [...subjects, ...missing] }),
  }
  return equalJson(object, before) ? before : object
}

function isSame(left: Subject, right: Subject): boolean {
  return (
    left.kind === right.kind &&
    left.name === right.name &&
    (left.apiGroup ?? '') === (right.apiGroup ?? '') &&
    (left.namespace ?? '') === (right.namespace ?? '')
  )
}

function isProtected({ metadata }: RbacObject): boolean {
  return metadata?.annotations?.[autoUpdateAnnotation] === 'false'
}

/** Labels and annotations that are missing; those that differ stay as they are. */
function withMetadataOf<T extends RbacObject>(before: T, wanted: T): T {
  return {
    ...before,
    metadata: {
      ...before.metadata,
      labels: { ...wanted.metadata?.labels, ...before.metadata?.labels },
      annotations: { ...wanted.metadata?.annotations, ...before.metadata?.annotations },
    },
  }
}
