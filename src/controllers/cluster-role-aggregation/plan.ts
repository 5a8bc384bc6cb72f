import type { ClusterRole, PolicyRule } from '#/api/generated/rbac/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { compileLabelSelector } from '#/api/selector.ts'

/** The rules of all selected roles without duplicates, ordered by selector and then by role name. */
export function planRules(role: ClusterRole, all: readonly ClusterRole[]): readonly PolicyRule[] {
  const rules: PolicyRule[] = []
  const byName = all.toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const compiled = compileLabelSelector(selector)
    for (const each of byName) {
      if (nameOf(each) === nameOf(role) || !compiled.matches(each.metadata?.labels ?? {})) continue
      for (const rule of each.rules ?? []) {
        if (!rules.some(known => equalJson(known, rule))) rules.push(rule)
      }
    }
  }
  return rules
}

function nameOf({ metadata }: ClusterRole): string {
  return metadata?.name ?? ''
}
