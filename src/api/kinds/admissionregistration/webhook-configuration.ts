/**
 * Rules of ValidatingWebhookConfiguration and MutatingWebhookConfiguration; the latter also has
 * `reinvocationPolicy`.
 */
import { enumValues } from '../../definitions.ts'
import { duplicate, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '../../generated/admissionregistration/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateFullyQualifiedName } from '../../names.ts'
import type { LabelSelector } from '../../selectors/selector.ts'
import { validateOptionalChoice } from '../validation/field-checks.ts'
import { validateSelector } from '../validation/selectors.ts'
import { mapCopyOnWrite, withField, withMissing } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import {
  validateReviewVersions,
  validateWebhookClient,
  withServicePort,
} from '../validation/webhook-client.ts'
import { validateMatchConditions } from './match-conditions.ts'
import { matchPolicies } from './match-resources.ts'
import { warningsForReservedName } from './reserved-name.ts'
import { validateRule, withScope } from './resource-rules.ts'

const shared = {
  tracksGeneration: true,
  allowUnconditionalUpdate: false,
  validate: validateConfiguration,
  validateUpdate: validateConfiguration,
  warnings: warningsForReservedName,
} as const

export const validatingWebhookConfigurationRules: KindRules<ValidatingWebhookConfiguration> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  ...shared,
  withDefaults: configuration =>
    withField(configuration, 'webhooks', hooks => {
      return mapCopyOnWrite(hooks, withWebhookDefaults)
    }),
}

export const mutatingWebhookConfigurationRules: KindRules<MutatingWebhookConfiguration> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  ...shared,
  withDefaults: configuration =>
    withField(configuration, 'webhooks', hooks =>
      mapCopyOnWrite(hooks, hook => {
        return withWebhookDefaults(withMissing(hook, { reinvocationPolicy: 'Never' }))
      }),
    ),
}

export const failurePolicies = enumValues('admissionregistration.FailurePolicyType')
export const reinvocationPolicies = enumValues('admissionregistration.ReinvocationPolicyType')

const harmless = ['None', 'NoneOnDryRun']
const reviewVersions = ['v1', 'v1beta1']
const timeoutSecondsMax = 30

/** The fields common to both kinds of webhooks. */
type Webhook = Omit<MutatingWebhook, 'reinvocationPolicy'>

function withWebhookDefaults<T extends Webhook>(hook: T): T {
  const filled = withMissing<Webhook>(hook, {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  })
  const ruled = withField(filled, 'rules', rules => mapCopyOnWrite(rules, withScope))
  return withField(ruled, 'clientConfig', withServicePort) as T
}

interface Configuration {
  readonly webhooks?: readonly Unchecked<MutatingWebhook>[]
}

function validateConfiguration({ webhooks = [] }: Configuration): FieldError[] {
  const names = new Set<string>()
  return webhooks.flatMap((hook, index) => {
    const { name = '', admissionReviewVersions: versions = [] } = hook
    const field = `webhooks[${index}]`
    const repeated = name !== '' && names.has(name) ? [duplicate(`${field}.name`, name)] : []
    names.add(name)
    const versionsField = `${field}.admissionReviewVersions`
    return [
      ...validateWebhook(field, hook),
      ...(versions.length > 0
        ? validateReviewVersions(versionsField, versions, reviewVersions)
        : [required(versionsField, `must specify one of ${reviewVersions.join(', ')}`)]),
      ...repeated,
    ]
  })
}

function validateWebhook(field: string, hook: Unchecked<MutatingWebhook>): FieldError[] {
  return [
    ...validateFullyQualifiedName(`${field}.name`, hook.name ?? ''),
    ...(hook.rules ?? []).flatMap((rule, index) => validateRule(`${field}.rules[${index}]`, rule)),
    ...validateOptionalChoice(`${field}.failurePolicy`, hook.failurePolicy, failurePolicies),
    ...validateOptionalChoice(`${field}.matchPolicy`, hook.matchPolicy, matchPolicies),
    ...validateSideEffects(`${field}.sideEffects`, hook.sideEffects),
    ...validateTimeout(`${field}.timeoutSeconds`, hook.timeoutSeconds),
    ...validateSelector(`${field}.namespaceSelector`, hook.namespaceSelector as LabelSelector | undefined),
    ...validateSelector(`${field}.objectSelector`, hook.objectSelector as LabelSelector | undefined),
    ...validateOptionalChoice(`${field}.reinvocationPolicy`, hook.reinvocationPolicy, reinvocationPolicies),
    ...validateWebhookClient(`${field}.clientConfig`, hook.clientConfig ?? {}),
    ...validateMatchConditions(`${field}.matchConditions`, hook.matchConditions),
  ]
}

/** Only `None` and `NoneOnDryRun` are allowed: a dry run must have no side effects. */
function validateSideEffects(field: string, sideEffects: string | undefined): FieldError[] {
  if (sideEffects === undefined) return [required(field, `must specify one of ${harmless.join(', ')}`)]
  return harmless.includes(sideEffects) ? [] : [notSupported(field, sideEffects, harmless)]
}

function validateTimeout(field: string, seconds: number | undefined): FieldError[] {
  if (seconds === undefined || (seconds >= 1 && seconds <= timeoutSecondsMax)) return []
  return [invalid(field, seconds, `the timeout value must be between 1 and ${timeoutSecondsMax} seconds`)]
}
