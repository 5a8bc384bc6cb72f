/**
 * Rules and table columns of `rbac.authorization.k8s.io`. The escalation check, that a user has all permissions
 * it grants, is done by authorization. https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding, Subject } from '../../generated/rbac/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'
import { textColumn, wideColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
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

export const rbacRules: GroupRules = {
  Role: role,
  ClusterRole: clusterRole,
  RoleBinding: roleBinding,
  ClusterRoleBinding: clusterRoleBinding,
}

const bindingColumns: KindColumns<RoleBinding | ClusterRoleBinding> = {
  columns: [
    nameColumn,
    textColumn('Role', 'The referenced role.'),
    ageColumn,
    wideColumn('Users', 'Users in the roleBinding.'),
    wideColumn('Groups', 'Groups in the roleBinding.'),
    wideColumn('ServiceAccounts', 'Service accounts in the roleBinding.'),
  ],
  cells: (binding: Unchecked<RoleBinding | ClusterRoleBinding>) => {
    const { roleRef: { kind = '', name = '' } = {}, subjects } = binding
    return [
      nameOf(binding),
      `${kind}/${name}`,
      ageOf(binding),
      subjectsText(subjects, 'User'),
      subjectsText(subjects, 'Group'),
      subjectsText(subjects, 'ServiceAccount'),
    ]
  },
}

type SubjectKind = 'User' | 'Group' | 'ServiceAccount'

function subjectsText(subjects: readonly Unchecked<Subject>[] = [], kind: SubjectKind): string {
  const texts: string[] = []
  for (const subject of subjects) {
    const { name = '', namespace = '' } = subject
    if (subject.kind === kind) texts.push(kind === 'ServiceAccount' ? `${namespace}/${name}` : name)
  }
  return texts.join(', ')
}

export const rbacColumns: GroupColumns = {
  ClusterRole: createdColumns,
  ClusterRoleBinding: bindingColumns,
  Role: createdColumns,
  RoleBinding: bindingColumns,
}
