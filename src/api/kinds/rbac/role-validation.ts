/** Validation of Role and ClusterRole. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { ClusterRole, PolicyRule, Role } from '../../generated/rbac/v1.ts'
import type { Scope } from '../../resource.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateSelector } from '../validation/selectors.ts'
import type { Unchecked } from '../validation/unchecked.ts'

export function validateRole({ rules = [] }: Unchecked<Role>): FieldError[] {
  return rules.flatMap((rule, index) => validateRule(`rules[${index}]`, rule, 'Namespaced'))
}

export function validateClusterRole({ rules = [], aggregationRule }: Unchecked<ClusterRole>): FieldError[] {
  const errors = rules.flatMap((rule, index) => validateRule(`rules[${index}]`, rule, 'Cluster'))
  if (aggregationRule === undefined) return errors
  const field = 'aggregationRule.clusterRoleSelectors'
  const { clusterRoleSelectors: selectors = [] } = aggregationRule
  if (selectors.length === 0) {
    errors.push(required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil'))
  }
  for (const [index, selector] of selectors.entries()) {
    const faults = validateSelector(`${field}[${index}]`, selector as LabelSelector)
    errors.push(...faults)
    // Kubernetes shows no value here.
    if (faults.length > 0) errors.push(invalid(`${field}[${index}]`, null, 'invalid label selector.'))
  }
  return errors
}

function validateRule(field: string, rule: Unchecked<PolicyRule>, scope: Scope): FieldError[] {
  const { verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule
  const errors: FieldError[] = []
  if (verbs.length === 0) errors.push(required(`${field}.verbs`, 'verbs must contain at least one value'))
  if (nonResourceURLs.length > 0) {
    if (scope === 'Namespaced') {
      const detail = 'namespaced rules cannot apply to non-resource URLs'
      errors.push(invalid(`${field}.nonResourceURLs`, nonResourceURLs, detail))
    }
    if (apiGroups.length > 0 || resources.length > 0 || resourceNames.length > 0) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs'
      errors.push(invalid(`${field}.nonResourceURLs`, nonResourceURLs, detail))
    }
    return errors
  }
  if (apiGroups.length === 0) {
    errors.push(required(`${field}.apiGroups`, 'resource rules must supply at least one api group'))
  }
  if (resources.length === 0) {
    errors.push(required(`${field}.resources`, 'resource rules must supply at least one resource'))
  }
  return errors
}
