/**
 * Rules of CustomResourceDefinition. Name conflicts and the Established condition are the responsibility of
 * controllers, which write the status.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { isTrue } from '../../conditions.ts'
import { invalid, required, type FieldError } from '../../field-error.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
} from '../../generated/apiextensions/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkDns1123Subdomain } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateChoice } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { isApprovalChanged, validateApproval } from './api-approval.ts'
import { validateConversion } from './conversion-validation.ts'
import { withDefinitionDefaults } from './defaults.ts'
import { warningsForFormats } from './formats.ts'
import { validateGivenNames, validateNames } from './names-validation.ts'
import { validateVersions } from './versions-validation.ts'

type Definition = Unchecked<CustomResourceDefinition>
type Spec = Unchecked<CustomResourceDefinitionSpec>

export const customResourceDefinitionRules: KindRules<CustomResourceDefinition> = {
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  withDefaults: withDefinitionDefaults,
  prepareForCreate: definition =>
    withStoredVersion({
      ...definition,
      status: { acceptedNames: { kind: '', plural: '' }, conditions: [] },
    }),
  prepareForUpdate: withStoredVersion,
  validate: definition => [
    ...validateDefinition(definition),
    ...validatePreserving(definition.spec ?? {}),
    ...validateApproval(definition, definition.spec?.group ?? ''),
  ],
  validateUpdate: (definition, old) => [
    ...validateDefinition(definition),
    ...validateUnchanged(definition, old),
    ...(old.spec?.preserveUnknownFields ? [] : validatePreserving(definition.spec ?? {})),
    ...(isApprovalChanged(definition, old) ? validateApproval(definition, definition.spec?.group ?? '') : []),
  ],
  validateStatusUpdate: ({ status = {} }: Definition) => {
    return validateGivenNames('status.acceptedNames', status.acceptedNames ?? {})
  },
  warnings: warningsForFormats,
}

/** Adds the storage version to `status.storedVersions`. */
function withStoredVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const storage = definition.spec?.versions?.find(version => version.storage)?.name
  const stored = definition.status?.storedVersions ?? []
  if (!storage || stored.includes(storage)) return definition
  return { ...definition, status: { ...definition.status, storedVersions: [...stored, storage] } }
}

function validateDefinition({ metadata, spec = {}, status = {} }: Definition): FieldError[] {
  return [
    ...validateName(metadata?.name ?? '', spec),
    ...validateGroup(spec.group ?? ''),
    ...validateChoice('spec.scope', spec.scope, ['Cluster', 'Namespaced']),
    ...validateVersions(spec),
    ...validateNames('spec.names', spec.names ?? {}),
    ...(spec.conversion ? validateConversion(spec.conversion) : []),
    ...validateGivenNames('status.acceptedNames', status.acceptedNames ?? {}),
    ...validateStored(status.storedVersions ?? [], spec),
  ]
}

function validateName(name: string, { names = {}, group = '' }: Spec): FieldError[] {
  if (name === '' || name === `${names.plural ?? ''}.${group}`) return []
  return [invalid('metadata.name', name, 'must be spec.names.plural+"."+spec.group')]
}

function validateGroup(group: string): FieldError[] {
  const field = 'spec.group'
  if (group === '') return [required(field, '')]
  const problems = checkDns1123Subdomain(group)
  if (problems.length > 0) return [invalid(field, group, problems.join(','))]
  return group.includes('.') ? [] : [invalid(field, group, 'should be a domain with at least one dot')]
}

/** A version in `status.storedVersions` cannot be removed from the spec. */
function validateStored(stored: readonly string[], { versions = [] }: Spec): FieldError[] {
  const field = 'status.storedVersions'
  if (stored.length === 0) return [invalid(field, stored, 'must have at least one stored version')]
  const names = new Set(versions.map(({ name = '' }) => name))
  const listed = new Set(stored)
  const unlisted = versions.filter(({ storage, name = '' }) => storage === true && !listed.has(name))
  return [
    ...unlisted.map(({ name = '' }) => invalid(field, stored, `must have the storage version ${name}`)),
    ...stored.flatMap((name, index) =>
      names.has(name)
        ? []
        : [
            invalid(
              `${field}[${index}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in ` +
                `spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ` +
                `${name} from status.storedVersions`,
            ),
          ],
    ),
  ]
}

function validatePreserving({ preserveUnknownFields }: Spec): FieldError[] {
  if (!preserveUnknownFields) return []
  const detail =
    'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in ' +
    'spec.versions[*].schema instead'
  return [invalid('spec.preserveUnknownFields', true, detail)]
}

/** Scope and kind are immutable once the definition is established; group and plural are always immutable. */
function validateUnchanged({ spec = {} }: Definition, { spec: old = {}, status }: Definition): FieldError[] {
  const isEstablished = isTrue(status?.conditions, 'Established')
  return [
    ...(isEstablished
      ? [
          ...validateImmutable(spec.scope, old.scope, 'spec.scope'),
          ...validateImmutable(spec.names?.kind, old.names?.kind, 'spec.names.kind'),
        ]
      : []),
    ...validateImmutable(spec.group, old.group, 'spec.group'),
    ...validateImmutable(spec.names?.plural, old.names?.plural, 'spec.names.plural'),
  ]
}
