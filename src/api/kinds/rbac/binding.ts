/**
 * Validation of RoleBinding and ClusterRoleBinding. `roleRef` is immutable, since changing it could grant any
 * role.
 */
import { invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from '../../generated/rbac/v1.ts'
import { checkPathSegmentName } from '../../names.ts'
import {
  validateDnsSubdomain,
  validateOptionalChoice,
  validateRequiredName,
} from '../validation/field-checks.ts'
import { mapCopyOnWrite, withDefaults, withField } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'

type Binding = RoleBinding | ClusterRoleBinding

export function withBindingDefaults<T extends Binding>(binding: T): T {
  const roleRef = withDefaults<RoleRef>(binding.roleRef ?? {}, { apiGroup: rbacGroup })
  const referring = roleRef === binding.roleRef ? binding : { ...binding, roleRef }
  return withField<Binding, 'subjects'>(referring, 'subjects', subjects => {
    return mapCopyOnWrite(subjects, withSubjectDefaults)
  }) as T
}

export function validateRoleBinding(binding: Unchecked<RoleBinding>): FieldError[] {
  return [...validateRoleRef(binding, ['Role', 'ClusterRole']), ...validateSubjects(binding)]
}

/** Service account subjects require a namespace, since the binding has none. */
export function validateClusterRoleBinding(binding: Unchecked<ClusterRoleBinding>): FieldError[] {
  const homeless = (binding.subjects ?? []).flatMap(({ kind, namespace }, index) => {
    return kind === 'ServiceAccount' && !namespace ? [required(`subjects[${index}].namespace`, '')] : []
  })
  return [...validateRoleRef(binding, ['ClusterRole']), ...validateSubjects(binding), ...homeless]
}

export function validateSameRole(binding: Unchecked<Binding>, old: Unchecked<Binding>): FieldError[] {
  const { apiGroup, kind, name } = binding.roleRef ?? {}
  const { apiGroup: oldGroup, kind: oldKind, name: oldName } = old.roleRef ?? {}
  if (apiGroup === oldGroup && kind === oldKind && name === oldName) return []
  return [invalid('roleRef', { apiGroup, kind, name }, 'cannot change roleRef')]
}

const rbacGroup = 'rbac.authorization.k8s.io'

function withSubjectDefaults(subject: Subject): Subject {
  const isNamed = subject.kind === 'User' || subject.kind === 'Group'
  return isNamed ? withDefaults(subject, { apiGroup: rbacGroup }) : subject
}

function validateRoleRef({ roleRef = {} }: Unchecked<Binding>, kinds: readonly string[]): FieldError[] {
  return [
    ...validateOptionalChoice('roleRef.apiGroup', roleRef.apiGroup ?? '', [rbacGroup]),
    ...validateOptionalChoice('roleRef.kind', roleRef.kind ?? '', kinds),
    ...validateRequiredName('roleRef.name', roleRef.name, checkPathSegmentName),
  ]
}

function validateSubjects({ subjects = [] }: Unchecked<Binding>): FieldError[] {
  return subjects.flatMap((subject, index) => validateSubject(`subjects[${index}]`, subject))
}

function validateSubject(field: string, subject: Unchecked<Subject>): FieldError[] {
  const { kind = '', name, apiGroup = '' } = subject
  const errors = name ? [] : [required(`${field}.name`, '')]
  switch (kind) {
    case 'ServiceAccount':
      if (name) errors.push(...validateDnsSubdomain(`${field}.name`, name))
      return [...errors, ...validateOptionalChoice(`${field}.apiGroup`, apiGroup, [''])]
    case 'User':
    case 'Group':
      return [...errors, ...validateOptionalChoice(`${field}.apiGroup`, apiGroup, [rbacGroup])]
    default:
      return [...errors, notSupported(`${field}.kind`, kind, ['ServiceAccount', 'User', 'Group'])]
  }
}
