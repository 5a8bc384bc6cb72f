/**
 * Rules of CustomResourceDefinition. Name conflicts and the Established condition are the responsibility of
 * controllers, which write the status.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { isTrue, withCondition } from '../../conditions.ts'
import { cleanupFinalizer } from '../../custom-resources/definition-status.ts'
import { withoutEmptyKeywords } from '../../custom-resources/without-empty-keywords.ts'
import { forbiddenField, invalid, required, type FieldError } from '../../field-error.ts'
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../generated/apiextensions/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkDns1123Subdomain } from '../../names.ts'
import { isApprovalChanged, validateApproval } from '../../custom-resources/api-approval.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateChoice } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { warningsForFormats } from './formats.ts'
import { validateGivenNames, validateNames } from './names-validation.ts'
import { validateVersions } from './versions-validation.ts'
import { mapCopyOnWrite, withDefaults, withField } from '../../copy-on-write.ts'
import {
  validateReviewVersions,
  validateWebhookClient,
  withServicePort,
} from '../validation/webhook-client.ts'

type Definition = Unchecked<CustomResourceDefinition>
type Spec = Unchecked<CustomResourceDefinitionSpec>

export const customResourceDefinitionRules: KindRules<CustomResourceDefinition> = {
  allowsUnqualifiedFinalizers: true,
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  withDefaults: withDefinitionDefaults,
  prepareForCreate: definition =>
    withStoredVersion({
      ...definition,
      status: { acceptedNames: { kind: '', plural: '' } },
    }),
  prepareForUpdate: withStoredVersion,
  validate: definition => [
    ...validateName(definition),
    ...validateSpec(definition),
    ...validateStatus(definition),
    ...validateApproval(definition, definition.spec?.group ?? ''),
    ...validatePreserving(definition.spec ?? {}),
  ],
  validateUpdate: (definition, old) => [
    ...validateSpec(definition),
    ...validateUnchanged(definition, old),
    ...validateStatus(definition),
    ...(isApprovalChanged(definition, old) ? validateApproval(definition, definition.spec?.group ?? '') : []),
    ...(old.spec?.preserveUnknownFields ? [] : validatePreserving(definition.spec ?? {})),
  ],
  validateStatusUpdate: ({ status = {} }: Definition) => {
    return validateGivenNames('status.acceptedNames', status.acceptedNames ?? {})
  },
  warnings: warningsForFormats,
  deletionFinalizers: [cleanupFinalizer],
  beginDeletion: (definition, now) => {
    const conditions = withCondition(definition.status?.conditions, {
      ...deletionPending,
      lastTransitionTime: now,
    })
    return { ...definition, status: { ...definition.status, conditions } }
  },
}

const deletionPending = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionPending',
  message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
}

/** Adds the storage version to `status.storedVersions`. */
function withStoredVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const version = definition.spec?.versions?.find(({ storage }) => storage)
  const storage = version && (version.name ?? '')
  const stored = definition.status?.storedVersions ?? []
  if (storage === undefined || stored.includes(storage)) return definition
  return { ...definition, status: { ...definition.status, storedVersions: [...stored, storage] } }
}

function validateSpec({ spec = {} }: Definition): FieldError[] {
  return [
    ...validateGroup(spec.group ?? ''),
    ...validateChoice('spec.scope', spec.scope, ['Cluster', 'Namespaced']),
    ...validateVersions(spec),
    ...validateNames('spec.names', spec.names ?? {}),
    ...(spec.preserveUnknownFields && (spec.conversion?.strategy ?? 'None') !== 'None'
      ? [
          invalid(
            'spec.conversion.strategy',
            spec.conversion?.strategy,
            'must be None if spec.preserveUnknownFields is true',
          ),
        ]
      : []),
    ...(spec.conversion ? validateConversion(spec.conversion) : []),
  ]
}

function validateStatus({ spec = {}, status = {} }: Definition): FieldError[] {
  return [
    ...validateGivenNames('status.acceptedNames', status.acceptedNames ?? {}),
    ...validateStored(status.storedVersions, spec),
  ]
}

/** The prefix of a generated name is validated as the name is. */
function validateName({ metadata, spec: { names = {}, group = '' } = {} }: Definition): FieldError[] {
  const { generateName = '', name = '' } = metadata ?? {}
  const given = [
    ['metadata.generateName', generateName],
    ['metadata.name', name],
  ] as const
  return given.flatMap(([field, text]) =>
    text === '' || text === `${names.plural ?? ''}.${group}`
      ? []
      : [invalid(field, text, 'must be spec.names.plural+"."+spec.group')],
  )
}

function validateGroup(group: string): FieldError[] {
  const field = 'spec.group'
  if (group === '') return [required(field, '')]
  const problems = checkDns1123Subdomain(group)
  if (problems.length > 0) return [invalid(field, group, problems.join(','))]
  return group.includes('.') ? [] : [invalid(field, group, 'should be a domain with at least one dot')]
}

/** A version in `status.storedVersions` cannot be removed from the spec. */
function validateStored(stored: readonly string[] | undefined, { versions = [] }: Spec): FieldError[] {
  const field = 'status.storedVersions'
  if (!stored?.length) return [invalid(field, stored ?? null, 'must have at least one stored version')]
  const names = new Set(versions.map(({ name = '' }) => name))
  // A version that has a duplicate is not listed for the second.
  const listed = new Set(stored)
  const unlisted = versions.filter(({ storage, name = '' }) => !listed.delete(name) && storage === true)
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

function withDefinitionDefaults(definition: CustomResourceDefinition): CustomResourceDefinition {
  const defaulted = withField(definition, 'spec', spec => {
    const named = withField(spec, 'names', withNames)
    const schemas = withField(named, 'versions', versions => mapCopyOnWrite(versions, withoutEmpty))
    return withField(withConversion(schemas), 'conversion', withWebhookPort)
  })
  return definition.status?.storedVersions?.length ? defaulted : withStoredVersion(defaulted)
}

function withoutEmpty(version: CustomResourceDefinitionVersion): CustomResourceDefinitionVersion {
  const hasStatus = version.subresources?.status !== undefined
  return withField(version, 'schema', schema =>
    withField(schema, 'openAPIV3Schema', root => withoutEmptyKeywords(root, hasStatus)),
  )
}

function withNames(names: CustomResourceDefinitionNames): CustomResourceDefinitionNames {
  const { kind } = names
  return kind ? withDefaults(names, { singular: kind.toLowerCase(), listKind: `${kind}List` }) : names
}

function withConversion(spec: CustomResourceDefinitionSpec): CustomResourceDefinitionSpec {
  return spec.conversion ? spec : { ...spec, conversion: { strategy: 'None' } }
}

function withWebhookPort(conversion: CustomResourceConversion): CustomResourceConversion {
  return withField(conversion, 'webhook', webhook => withField(webhook, 'clientConfig', withServicePort))
}

/**
 * Error messages use the field paths of `v1beta1`, in which the webhook's fields are next to the strategy.
 */
const webhookClientField = 'spec.conversion.webhookClientConfig'
const reviewVersionsField = 'spec.conversion.conversionReviewVersions'

function validateConversion(conversion: Unchecked<CustomResourceConversion>): FieldError[] {
  const { strategy, webhook = {} } = conversion
  const errors = validateChoice('spec.conversion.strategy', strategy, ['None', 'Webhook'])
  const { clientConfig, conversionReviewVersions: versions = [] } = webhook
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook'
    return [
      ...errors,
      ...(clientConfig ? [forbiddenField(webhookClientField, detail)] : []),
      ...(versions.length > 0 ? [forbiddenField(reviewVersionsField, detail)] : []),
    ]
  }
  return [
    ...errors,
    ...(clientConfig
      ? validateWebhookClient(webhookClientField, clientConfig)
      : [required(webhookClientField, 'required when strategy is set to Webhook')]),
    ...(versions.length > 0
      ? validateReviewVersions(reviewVersionsField, versions, ['v1', 'v1beta1'])
      : [required(reviewVersionsField, '')]),
  ]
}
