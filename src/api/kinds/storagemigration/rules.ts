/** Rules of StorageVersionMigration. */
import { isTrue } from '../../conditions.ts'
import { invalid, required, type FieldError } from '../../field-error.ts'
import type { StorageVersionMigration } from '../../generated/storagemigration/v1beta1.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { checkDns1035Label, checkDns1123Subdomain } from '../../names.ts'
import { equalJson } from '../../text/json-value.ts'
import { validateConditions } from '../validation/conditions.ts'

const storageVersionMigrationRules: KindRules<StorageVersionMigration> = {
  allowUnconditionalUpdate: false,
  validate: validateSpec,
  validateUpdate: (migration, old) => [
    ...validateSpec(migration),
    ...(equalJson(migration.spec, old.spec)
      ? []
      : [invalid('spec', migration.spec ?? {}, 'field is immutable')]),
  ],
  validateStatusUpdate,
}

export const storagemigrationRules: GroupRules = { StorageVersionMigration: storageVersionMigrationRules }

function validateSpec({ spec }: StorageVersionMigration): FieldError[] {
  const { resource = '', group = '' } = spec?.resource ?? {}
  const field = 'spec.resource'
  const problems = resource === '' ? [] : checkDns1035Label(resource)
  const groupProblems = group === '' ? [] : checkDns1123Subdomain(group)
  return [
    ...(resource === '' ? [required(`${field}.resource`, 'resource is required to be set')] : []),
    ...(problems.length > 0 ? [invalid(`${field}.resource`, resource, problems.join(','))] : []),
    ...(groupProblems.length > 0 ? [invalid(`${field}.group`, group, groupProblems.join(','))] : []),
  ]
}

function validateStatusUpdate(
  { status = {} }: StorageVersionMigration,
  { status: old = {} }: StorageVersionMigration,
): FieldError[] {
  const { resourceVersion = '', conditions } = status
  const is = (type: string): boolean => isTrue(conditions, type)
  const was = (type: string): boolean => isTrue(old.conditions, type)
  const wrong = (text: string): FieldError => invalid('status.conditions', conditions ?? [], text)
  const unset = ({ type, name }: { readonly type: string; readonly name: string }): FieldError[] =>
    was(type) && !is(type) ? [wrong(`${name} condition cannot be set to false once it is true`)] : []
  return [
    ...(/^[1-9]\d*$|^0?$/.test(resourceVersion)
      ? []
      : [invalid('status.resourceVersion', resourceVersion, 'resource version is not well formed')]),
    ...validateConditions('status.conditions', conditions),
    ...(old.resourceVersion && old.resourceVersion !== resourceVersion
      ? [invalid('status.resourceVersion', resourceVersion, 'field is immutable')]
      : []),
    ...(is('Succeeded') && is('Failed')
      ? [wrong('Both success and failed conditions cannot be true at the same time')]
      : []),
    ...unset({ type: 'Succeeded', name: 'Success' }),
    ...unset({ type: 'Failed', name: 'Failed' }),
  ]
}
