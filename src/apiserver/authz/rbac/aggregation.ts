/**
 * Aggregated ClusterRoles: the union of the rules of all roles that their selectors match, in order of name.
 */
import type { ClusterRole, PolicyRule } from '#/api/generated/rbac/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { compileLabelSelector, nothing, type LabelSelector, type Selector } from '#/api/selectors/selector.ts'
import { SelectorError } from '#/api/selectors/selector-error.ts'

function aggregatedRules(role: ClusterRole, all: Iterable<ClusterRole>): readonly PolicyRule[] {
  const others = [...all].filter(each => nameOf(each) !== nameOf(role))
  const byName = others.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
  const rules = new Map<string, PolicyRule>()
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const chosen = compile(selector)
    for (const { metadata, rules: theirs = [] } of byName) {
      if (!chosen.matches(metadata.labels)) continue
      for (const rule of theirs) rules.set(JSON.stringify(inOrder(rule)), rule)
    }
  }
  return [...rules.values()]
}

/** Invalid selectors match nothing, so that a stored one does not prevent startup. */
function compile(selector: LabelSelector): Selector {
  try {
    return compileLabelSelector(selector)
  } catch (error) {
    if (error instanceof SelectorError) return nothing
    throw error
  }
}

/**
 * Returns the roles with aggregated rules. Aggregated roles can select each other; as many rounds as there
 * are aggregated roles suffice, even with cycles.
 */
export function withAggregatedRules(
  roles: ReadonlyMap<string, ClusterRole>,
): ReadonlyMap<string, ClusterRole> {
  const current = new Map(roles)
  const gathering = [...roles].filter(([, role]) => role.aggregationRule !== undefined).map(([key]) => key)
  for (let round = 0; round <= gathering.length; round++) {
    let isSettled = true
    for (const key of gathering) {
      const role = current.get(key)!
      const rules = aggregatedRules(role, current.values())
      if (equalJson(rules, role.rules ?? [])) continue
      isSettled = false
      current.set(key, { ...role, rules })
    }
    if (isSettled) break
  }
  return current
}

function nameOf({ metadata }: ClusterRole): string {
  return metadata.name ?? ''
}

function inOrder({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): PolicyRule {
  return {
    verbs,
    ...(apiGroups && { apiGroups }),
    ...(resources && { resources }),
    ...(resourceNames && { resourceNames }),
    ...(nonResourceURLs && { nonResourceURLs }),
  }
}
