/**
 * The `AuthorizationConfiguration` file: the authorizer chain, with match conditions. Unlike flags it
 * supports several webhooks.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#using-configuration-file-for-authorization
 */
import { isAbsolute } from 'node:path'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import {
  duplicate,
  formatFieldErrors,
  invalid,
  notSupported,
  required,
  type FieldError,
} from '#/api/field-error.ts'
import { checkDns1123Subdomain } from '#/api/names.ts'
import {
  boolean,
  list,
  readConfigurationFile,
  string,
  struct,
  type ConfigurationKind,
} from '../configuration-file.ts'
import { compileMatchConditions, validateMatchConditions, type MatchCondition } from './match-conditions.ts'
import { authorizationModes, isMode, type AuthorizationMode } from './modes.ts'
import type { AuthorizationWebhookSettings } from './webhook-authorizer.ts'

/** An entry of the file; ABAC policies and kubeconfig files are not read yet. */
export interface ConfiguredAuthorizer {
  readonly mode: AuthorizationMode
  /** Only for mode Webhook. */
  readonly webhook?: ConfiguredWebhook
}

export interface ConfiguredWebhook {
  readonly kubeConfigFile: string
  readonly settings: Omit<AuthorizationWebhookSettings, 'url' | 'tls' | 'headers'>
}

/** Throws an Error that describes what is invalid. */
export function parseAuthorizationConfiguration(text: string): readonly ConfiguredAuthorizer[] {
  const { authorizers = [] } = readConfigurationFile(text, configurationKind)
  const errors = validate(authorizers)
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return authorizers.map(({ type, webhook }) => {
    return { mode: type as AuthorizationMode, ...(webhook && { webhook: toWebhook(webhook) }) }
  })
}

interface AuthorizerFields {
  readonly type?: string
  readonly name?: string
  readonly webhook?: WebhookFields
}

interface WebhookFields {
  readonly authorizedTTL?: string
  readonly cacheAuthorizedRequests?: boolean
  readonly unauthorizedTTL?: string
  readonly cacheUnauthorizedRequests?: boolean
  readonly timeout?: string
  readonly subjectAccessReviewVersion?: string
  readonly matchConditionSubjectAccessReviewVersion?: string
  readonly failurePolicy?: string
  readonly connectionInfo?: { readonly type?: string; readonly kubeConfigFile?: string }
  readonly matchConditions?: readonly MatchCondition[]
}

const configurationKind: ConfigurationKind<{ readonly authorizers?: readonly AuthorizerFields[] }> = {
  group: 'apiserver.config.k8s.io',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  kind: 'AuthorizationConfiguration',
  schema: struct({
    apiVersion: string,
    kind: string,
    authorizers: list(
      struct({
        type: string,
        name: string,
        webhook: struct({
          authorizedTTL: string,
          cacheAuthorizedRequests: boolean,
          unauthorizedTTL: string,
          cacheUnauthorizedRequests: boolean,
          timeout: string,
          subjectAccessReviewVersion: string,
          matchConditionSubjectAccessReviewVersion: string,
          failurePolicy: string,
          connectionInfo: struct({ type: string, kubeConfigFile: string }),
          matchConditions: list(struct({ expression: string })),
        }),
      }),
    ),
  }),
}

function toWebhook(fields: WebhookFields): ConfiguredWebhook {
  const { authorizedTTL = '5m', cacheAuthorizedRequests = true } = fields
  const { unauthorizedTTL = '30s', cacheUnauthorizedRequests = true, matchConditions = [] } = fields
  return {
    kubeConfigFile: fields.connectionInfo?.kubeConfigFile ?? '',
    settings: {
      version: fields.subjectAccessReviewVersion === 'v1' ? 'v1' : 'v1beta1',
      authorizedTtlMs: cacheAuthorizedRequests ? toMs(authorizedTTL) : 0,
      unauthorizedTtlMs: cacheUnauthorizedRequests ? toMs(unauthorizedTTL) : 0,
      timeoutMs: toMs(fields.timeout ?? ''),
      onFailure: fields.failurePolicy === 'Deny' ? 'deny' : 'no opinion',
      ...(matchConditions.length > 0 && { matches: compileMatchConditions(matchConditions) }),
    },
  }
}

function toMs(duration: string): number {
  return tryParseDurationMs(duration) ?? 0
}

function validate(authorizers: readonly AuthorizerFields[]): FieldError[] {
  if (authorizers.length === 0) {
    return [required('authorizers', 'at least one authorization mode must be defined')]
  }
  const types = authorizers.map(({ type }) => type)
  const names = authorizers.map(({ name }) => name)
  return authorizers.flatMap(({ type = '', name = '', webhook }, index) => {
    const field = `authorizers[${index}]`
    if (type === '') return [required(`${field}.type`, '')]
    if (!isMode(type)) return [notSupported(`${field}.type`, type, authorizationModes)]
    if (type !== 'Webhook' && types.indexOf(type) < index) return [duplicate(`${field}.type`, type)]
    const isRepeated = names.indexOf(name) < index
    return [...validateName(`${field}.name`, name, isRepeated), ...validateWebhookOf(type, field, webhook)]
  })
}

function validateName(field: string, name: string, isRepeated: boolean): FieldError[] {
  if (name === '') return [required(field, '')]
  if (isRepeated) return [duplicate(field, name)]
  const problems = checkDns1123Subdomain(name)
  return problems.length === 0
    ? []
    : [invalid(field, name, `authorizer name is invalid: ${problems.join(', ')}`)]
}

function validateWebhookOf(type: string, field: string, webhook: WebhookFields | undefined): FieldError[] {
  if (type === 'Webhook') {
    return webhook
      ? validateWebhook(field, webhook)
      : [required(`${field}.webhook`, 'required when type=Webhook')]
  }
  return webhook ? [invalid(`${field}.webhook`, 'non-null', 'may only be specified when type=Webhook')] : []
}

const timeoutMsMax = 30_000

function validateWebhook(field: string, webhook: WebhookFields): FieldError[] {
  const { timeout = '', subjectAccessReviewVersion: version = '', failurePolicy = '' } = webhook
  const { matchConditions = [], matchConditionSubjectAccessReviewVersion: conditionVersion = '' } = webhook
  const needed = 'required if match conditions are specified'
  return [
    ...(timeout === ''
      ? [required(`${field}.timeout`, '')]
      : validateDuration(`${field}.timeout`, timeout, timeoutMsMax)),
    ...validateDuration(`${field}.authorizedTTL`, webhook.authorizedTTL),
    ...validateDuration(`${field}.unauthorizedTTL`, webhook.unauthorizedTTL),
    ...validateChoice(`${field}.subjectAccessReviewVersion`, version, ['v1', 'v1beta1']),
    ...(conditionVersion === ''
      ? matchConditions.length > 0
        ? [required(`${field}.matchConditionSubjectAccessReviewVersion`, needed)]
        : []
      : validateChoice(`${field}.matchConditionSubjectAccessReviewVersion`, conditionVersion, ['v1'])),
    ...validateChoice(`${field}.failurePolicy`, failurePolicy, ['NoOpinion', 'Deny']),
    ...validateConnection(`${field}.connectionInfo`, webhook.connectionInfo),
    ...validateMatchConditions(`${field}.matchConditions`, matchConditions),
  ]
}

function validateDuration(field: string, text: string | undefined, msMax = Infinity): FieldError[] {
  const milliseconds = text === undefined ? 1 : tryParseDurationMs(text)
  if (milliseconds !== undefined && milliseconds > 0 && milliseconds <= msMax) return []
  return [invalid(field, text, msMax === Infinity ? 'must be > 0s' : 'must be > 0s and <= 30s')]
}

function validateChoice(field: string, value: string, choices: readonly string[]): FieldError[] {
  if (value === '') return [required(field, '')]
  return choices.includes(value) ? [] : [notSupported(field, value, choices)]
}

/** Only KubeConfigFile is accepted; InClusterConfig is for aggregated API servers. */
function validateConnection(
  field: string,
  { type = '', kubeConfigFile = '' }: NonNullable<WebhookFields['connectionInfo']> = {},
): FieldError[] {
  const errors = validateChoice(`${field}.type`, type, ['KubeConfigFile'])
  if (errors.length > 0) return errors
  if (kubeConfigFile === '') return [required(`${field}.kubeConfigFile`, '')]
  return isAbsolute(kubeConfigFile)
    ? []
    : [invalid(`${field}.kubeConfigFile`, kubeConfigFile, 'must be an absolute path')]
}
