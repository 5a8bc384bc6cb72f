/**
 * Plans the writes that reconcile the bootstrap roles and bindings: missing rules and subjects are added,
 * additional ones stay. Objects with the autoupdate annotation `false` are left unchanged.
 */
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '#/api/generated/rbac/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { autoUpdateAnnotation, type BootstrapRoles } from '../bootstrap-roles.ts'
import { withAggregatedRules } from './aggregation.ts'
import { uncoveredRules } from './uncovered-rules.ts'

export type RbacObject = ClusterRole | ClusterRoleBinding | Role | RoleBinding

/** `replace` deletes and recreates, because the roleRef of a binding is immutable. */
export interface BootstrapStep {
  readonly action: 'create' | 'update' | 'replace'
  readonly object: RbacObject
}

/** Existing objects by `nameKey`. */
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

/** `namespace/name`. */
export function nameKey({ metadata }: RbacObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

/**
 * Aggregated roles are written with their rules already aggregated, so startup does not depend on a
 * controller.
 */
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

/** Returns the same object if nothing is missing. */
function reconcileRole<T extends ClusterRole | Role>(before: T, wanted: T): T {
  if (isProtected(before)) return before
  const missing = uncoveredRules(before.rules ?? [], wanted.rules ?? [])
  const { aggregationRule: gathers, ...rest } = withMetadataOf(before, wanted) as ClusterRole
  const gathered = aggregationOf(gathers, (wanted as ClusterRole).aggregationRule)
  const object = {
    ...rest,
    ...(missing.length > 0 && { rules: [...(before.rules ?? []), ...missing] }),
    ...(gathered && { aggregationRule: gathered }),
  } as T
  return equalJson(object, before) ? before : object
}

/**
 * The union of the existing and the bootstrap role's selectors; undefined if the bootstrap role is not
 * aggregated.
 */
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

/** Returns the wanted object itself if the roleRef differs. */
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
  return metadata.annotations?.[autoUpdateAnnotation] === 'false'
}

/** Adds missing labels and annotations; existing values win. */
function withMetadataOf<T extends RbacObject>(before: T, wanted: T): T {
  return {
    ...before,
    metadata: {
      ...before.metadata,
      labels: { ...wanted.metadata.labels, ...before.metadata.labels },
      annotations: { ...wanted.metadata.annotations, ...before.metadata.annotations },
    },
  }
}
