/** Table columns for `rbac.authorization.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { ClusterRoleBinding, RoleBinding, Subject } from '../../generated/rbac/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'
import { textColumn, wideColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'

const bindingColumns: KindColumns<RoleBinding | ClusterRoleBinding> = {
  columns: [
    nameColumn,
    textColumn('Role', 'The referenced role.'),
    ageColumn,
    wideColumn('Users', 'Users in the roleBinding.'),
    wideColumn('Groups', 'Groups in the roleBinding.'),
    wideColumn('ServiceAccounts', 'Service accounts in the roleBinding.'),
  ],
  cells: (binding: Unchecked<RoleBinding | ClusterRoleBinding>, nowMs) => {
    const { roleRef: { kind = '', name = '' } = {}, subjects } = binding
    return [
      nameOf(binding),
      `${kind}/${name}`,
      ageOf(binding, nowMs),
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
