/** Which objects a quota is about. */
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../generated/core/v1.ts'
import type { KubernetesObject } from '../metadata.ts'
import type { QuotaEvaluator } from './evaluator.ts'

/** Everything an object must be in for the quota to be about it. */
export function scopesOf({ spec = {} }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] {
  const plain = (spec.scopes ?? []).map(scopeName => ({ scopeName, operator: 'Exists' }))
  return [...plain, ...(spec.scopeSelector?.matchExpressions ?? [])]
}

export function isInAllScopes(
  evaluator: QuotaEvaluator,
  object: KubernetesObject,
  scopes: readonly ScopedResourceSelectorRequirement[],
): boolean {
  return scopes.every(scope => evaluator.isInScope(object, scope))
}

/** Whether one of the names is selected, or having none is. */
export function selectsName(scope: ScopedResourceSelectorRequirement, names: readonly string[]): boolean {
  const { values = [] } = scope
  switch (scope.operator) {
    case 'Exists':
      return names.length > 0
    case 'DoesNotExist':
      return names.length === 0
    case 'In':
      return names.some(name => values.includes(name))
    case 'NotIn':
      return names.length === 0 || names.some(name => !values.includes(name))
    default:
      return false
  }
}
