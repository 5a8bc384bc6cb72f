/**
 * Rules of the `rbac.authorization.k8s.io` group. The escalation check, that a user has all permissions it
 * grants, is done by authorization. https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../../generated/rbac/v1.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { pathSegmentNames } from '../../names.ts'
import {
  validateClusterRoleBinding,
  validateRoleBinding,
  validateSameRole,
  withBindingDefaults,
} from './binding.ts'
import { validateClusterRole, validateRole } from './role-validation.ts'

const shared = { names: pathSegmentNames, allowCreateOnUpdate: true } as const

const role: KindRules<Role> = { ...shared, validate: validateRole, validateUpdate: validateRole }

const clusterRole: KindRules<ClusterRole> = {
  ...shared,
  validate: validateClusterRole,
  validateUpdate: validateClusterRole,
}

const roleBinding: KindRules<RoleBinding> = {
  ...shared,
  withDefaults: withBindingDefaults,
  validate: validateRoleBinding,
  validateUpdate: (binding, old) => [...validateRoleBinding(binding), ...validateSameRole(binding, old)],
}

const clusterRoleBinding: KindRules<ClusterRoleBinding> = {
  ...shared,
  withDefaults: withBindingDefaults,
  validate: validateClusterRoleBinding,
  validateUpdate: (binding, old) => [
    ...validateClusterRoleBinding(binding),
    ...validateSameRole(binding, old),
  ],
}

export const rbac: GroupRules = {
  Role: role,
  ClusterRole: clusterRole,
  RoleBinding: roleBinding,
  ClusterRoleBinding: clusterRoleBinding,
}
