/**
 * Fills ClusterRoles with the rules of other ClusterRoles that their `aggregationRule` selects.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
 */
import type { ClusterRole, PolicyRule } from '#/api/generated/rbac/v1.ts'
import { clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Controller } from './controller.ts'

export const clusterRoleAggregationController: Controller = {
  name: 'clusterrole-aggregation-controller',
  queueName: 'ClusterRoleAggregator',
  account: 'clusterrole-aggregation-controller',
  setUp: ({ informer, enqueue }) => {
    const roles = informer(clusterRoles)
    const aggregating = roles.index('aggregating', role => (role.aggregationRule ? [''] : []))
    roles.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject?.aggregationRule) enqueue(key)
      for (const role of aggregating.get('')) {
        if (selects(role, oldObject) || selects(role, newObject)) enqueue(role.metadata.name)
      }
    })
    return async ({ key, client, signal }) => {
      const role = roles.get(key)
      if (!role?.aggregationRule) return
      const rules = planRules(role, roles.list())
      if (equalJson(rules, role.rules ?? [])) return
      const applied = { metadata: { name: key }, rules }
      await client.apply(clusterRoles, applied, {
        fieldManager: 'clusterrole-aggregation-controller',
        force: true,
        signal,
      })
    }
  },
}

function selects({ aggregationRule }: ClusterRole, role: ClusterRole | undefined): boolean {
  return (
    role !== undefined &&
    (aggregationRule?.clusterRoleSelectors ?? []).some(selector => {
      return compileLabelSelector(selector).matches(role.metadata.labels ?? {})
    })
  )
}

/** The rules of all selected roles without duplicates, ordered by selector and then by role name. */
function planRules(role: Stored<ClusterRole>, all: readonly Stored<ClusterRole>[]): readonly PolicyRule[] {
  const rules: PolicyRule[] = []
  const byName = all.toSorted((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const compiled = compileLabelSelector(selector)
    for (const each of byName) {
      if (each.metadata.name === role.metadata.name || !compiled.matches(each.metadata.labels ?? {})) continue
      for (const rule of each.rules ?? []) {
        if (!rules.some(known => equalJson(known, rule))) rules.push(rule)
      }
    }
  }
  return rules
}
