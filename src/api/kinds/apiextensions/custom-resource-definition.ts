/**
 * Rules of CustomResourceDefinition. Name conflicts and the Established condition are the responsibility of
 * controllers, which write the status.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
import { isTrue, withCondition } from '../../conditions.ts'
import { decodeUnions } from '../../custom-resources/decode-unions.ts'
import { cleanupFinalizer } from '../../custom-resources/definition-status.ts'
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
    ...validateName(definition.metadata.name ?? '', definition.spec ?? {}),
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
  const storage = definition.spec?.versions?.find(version => version.storage)?.name
  const stored = definition.status?.storedVersions ?? []
  if (!storage || stored.includes(storage)) return definition
  return { ...definition, status: { ...definition.status, storedVersions: [...stored, storage] } }
}

function validateDefinition({ spec = {}, status = {} }: Definition): FieldError[] {
  return [
    ...validateGroup(spec.group ?? ''),
    ...validateChoice('spec.scope', spec.scope, ['Cluster', 'Namespaced']),
    ...validateVersions(spec),
    ...validateNames('spec.names', spec.names ?? {}),
    ...(spec.conversion ? validateConversion(spec.conversion) : []),
    ...validateGivenNames('status.acceptedNames', status.acceptedNames ?? {}),
    ...validateStored(status.storedVersions, spec),
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
function validateStored(stored: readonly string[] | undefined, { versions = [] }: Spec): FieldError[] {
  const field = 'status.storedVersions'
  if (!stored?.length) return [invalid(field, stored ?? null, 'must have at least one stored version')]
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

function withDefinitionDefaults(definition: CustomResourceDefinition): CustomResourceDefinition {
  return withField(definition, 'spec', spec => {
    const named = withField(spec, 'names', withNames)
    const decoded = withField(named, 'versions', versions => mapCopyOnWrite(versions, withDecodedSchema))
    return withField(withConversion(decoded), 'conversion', withWebhookPort)
  })
}

function withDecodedSchema(version: CustomResourceDefinitionVersion): CustomResourceDefinitionVersion {
  return withField(version, 'schema', schema => withField(schema, 'openAPIV3Schema', decodeUnions))
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
