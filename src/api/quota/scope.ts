/** Quota scopes. */
import type { ResourceQuota, ScopedResourceSelectorRequirement } from '../generated/core/v1.ts'
import type { KubernetesObject } from '../metadata.ts'
import type { QuotaEvaluator } from './evaluator.ts'

/** All scopes of the quota; an object must be in every one of them. */
export function scopesOf({ spec = {} }: ResourceQuota): readonly ScopedResourceSelectorRequirement[] {
  const plain = (spec.scopes ?? []).map(scopeName => ({ scopeName, operator: 'Exists' }))
  return [...plain, ...(spec.scopeSelector?.matchExpressions ?? [])]
}

export function isInAllScopes(
  evaluator: QuotaEvaluator,
  object: KubernetesObject,
  scopes: readonly ScopedResourceSelectorRequirement[],
): boolean {
  return scopes.every(scope => evaluator.matchesScope(object, scope))
}

/** Evaluates the scope's operator against the names, which may be empty. */
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
