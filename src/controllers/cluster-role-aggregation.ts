/**
 * Fills ClusterRoles with the rules of other ClusterRoles that their `aggregationRule` selects.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
 */
import type { ClusterRole } from '#/api/generated/rbac/v1.ts'
import { clusterRoles } from '#/api/generated/rbac/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { compileLabelSelector } from '#/api/selector.ts'
import { planRules } from './cluster-role-aggregation/plan.ts'
import type { Controller } from './controller.ts'

export const clusterRoleAggregationController: Controller = {
  name: 'clusterrole-aggregation-controller',
  account: 'clusterrole-aggregation-controller',
  setUp: ({ informer, enqueue }) => {
    const roles = informer(clusterRoles)
    const aggregating = roles.index('aggregating', role => (role.aggregationRule ? [''] : []))
    roles.addEventHandler((key, { oldObject, newObject }) => {
      if (newObject?.aggregationRule) enqueue(key)
      for (const role of aggregating.get('')) {
        if (selects(role, oldObject) || selects(role, newObject)) enqueue(role.metadata?.name ?? '')
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
      return compileLabelSelector(selector).matches(role.metadata?.labels ?? {})
    })
  )
}
