/**
 * Computes the permissions of one rule list that another does not cover. Rules are broken down into single
 * permissions, each of which must be covered by a single rule.
 */
import type { PolicyRule } from '#/api/generated/rbac/v1.ts'
import { RuleSet, type Rule, type BrokenDownRule } from './rule-set.ts'

/** Maximum number of combinations of verb, group, resource and name; bounds the time of a comparison. */
export const brokenDownRulesMax = 100_000

/** The rules have too many combinations to compare. */
export class TooManyRulesError extends Error {
  constructor() {
    super(
      `the rules have more than ${brokenDownRulesMax} combinations of verb, group, resource and name: use more roles`,
    )
  }
}

/**
 * The missing permissions in the order of `wanted`, one verb and one resource each. Throws TooManyRulesError.
 */
export function uncoveredRules(held: readonly Rule[], wanted: readonly Rule[]): readonly PolicyRule[] {
  const owned = new RuleSet(held)
  const hasAllResources = owned.covers({ verb: '*', group: '*', resource: '*' })
  const hasAllPaths = owned.allowsPath('*', '*')
  const missing: PolicyRule[] = []
  let parts = 0
  for (const rule of wanted) {
    parts += (hasAllResources ? 0 : countParts(rule)) + (hasAllPaths ? 0 : countPaths(rule))
    if (parts > brokenDownRulesMax) throw new TooManyRulesError()
    if (!hasAllResources) addMissingParts(owned, rule, missing)
    if (!hasAllPaths) addMissingPaths(owned, rule, missing)
  }
  return missing
}

function countParts({ verbs = [], apiGroups = [], resources = [], resourceNames = [] }: Rule): number {
  return verbs.length * apiGroups.length * resources.length * Math.max(1, resourceNames.length)
}

function countPaths({ verbs = [], nonResourceURLs = [] }: Rule): number {
  return verbs.length * nonResourceURLs.length
}

function addMissingParts(owned: RuleSet, rule: Rule, missing: PolicyRule[]): void {
  for (const part of partsOf(rule)) {
    if (owned.covers(part)) continue
    const { group, resource, verb, name } = part
    missing.push({
      verbs: [verb],
      apiGroups: [group],
      resources: [resource],
      ...(name !== undefined && { resourceNames: [name] }),
    })
  }
}

function* partsOf({
  verbs = [],
  apiGroups = [],
  resources = [],
  resourceNames = [],
}: Rule): Generator<BrokenDownRule> {
  const names = resourceNames.length === 0 ? [undefined] : resourceNames
  for (const group of apiGroups) {
    for (const resource of resources) {
      for (const verb of verbs) {
        for (const name of names) yield { group, resource, verb, name }
      }
    }
  }
}

function addMissingPaths(
  owned: RuleSet,
  { verbs = [], nonResourceURLs = [] }: Rule,
  missing: PolicyRule[],
): void {
  for (const path of nonResourceURLs) {
    for (const verb of verbs) {
      if (!owned.allowsPath(path, verb)) missing.push({ verbs: [verb], nonResourceURLs: [path] })
    }
  }
}
