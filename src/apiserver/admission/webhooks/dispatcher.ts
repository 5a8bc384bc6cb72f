/** Common part of mutating and validating webhooks: matching, calling, and applying the failurePolicy. */
import { forbidden, internalError, isApiError, timeout, type ApiError } from '#/api/errors.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import type { Resource } from '#/api/resource.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import { readWebhookCredentials, type WebhookCredentials } from '#/kubeconfig/webhook-kubeconfig.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import type { AdmissionType, WebhookResult } from '../../metrics/admission.ts'
import { LoggedApiError } from '../../pipeline.ts'
import type { AdmissionAttributes, AdmissionTarget } from '../admission-chain.ts'
import { CachedDerivation } from '../cached-derivation.ts'
import { MatchConditionEvaluator, joinErrors } from '../matching/conditions.ts'
import { selectsNamespace, selectsObject } from '../matching/selectors.ts'
import { ConfigurationError, type PluginContext } from '../plugin-context.ts'
import { WebhookCallError } from '../../webhook-failure.ts'
import { kubeConfigFileOf } from './configuration.ts'
import { requestFields } from '../matching/request-fields.ts'
import { reviewByWebhook, WebhookDenial, type Reviewer } from './review-by-webhook.ts'
import { versioned } from './versioned-object.ts'
import { WebhookClient } from '../../webhook-client.ts'
import { Webhooks, type MatchedWebhook, type WebhookConfiguration } from './webhook.ts'

export interface DispatcherOptions {
  readonly context: PluginContext
  /** Name of the plugin in the AdmissionConfiguration. */
  readonly name: string
  /** Resource of the webhook configurations. */
  readonly resource: Resource<WebhookConfiguration>
  readonly type: AdmissionType
  readonly configuration: JsonValue | undefined
}

export class WebhookDispatcher {
  readonly #options: DispatcherOptions
  readonly #webhooks: CachedDerivation<WebhookConfiguration, Webhooks>
  readonly #conditions: MatchConditionEvaluator
  readonly #client: WebhookClient
  readonly #reviewer: Reviewer
  readonly #kubeConfigFile: string | undefined
  readonly #failures: ThrottledLog
  #callers: Promise<WebhookCredentials> | undefined

  /** Throws ConfigurationError. */
  constructor(options: DispatcherOptions) {
    const { context, name, resource, type, configuration } = options
    const { cache, scheme, platform } = context
    this.#options = options
    this.#failures = new ThrottledLog(platform)
    this.#kubeConfigFile = kubeConfigFileOf(name, configuration)
    this.#webhooks = new CachedDerivation(cache, resource, objects => new Webhooks(objects, scheme))
    // With matchPolicy Equivalent, the match depends on the served versions of a resource.
    scheme.onChange(() => this.#webhooks.onReset())
    this.#conditions = new MatchConditionEvaluator(context.authorizer)
    this.#client = new WebhookClient(context, () => this.#readWebhookCredentials())
    this.#reviewer = { client: this.#client, random: platform.random, isMutating: type === 'admit' }
  }

  async start(): Promise<void> {
    try {
      await this.#readWebhookCredentials()
    } catch (error) {
      const reason = error instanceof Error ? error.message : ''
      throw new ConfigurationError(`${this.#options.name}: invalid kubeConfigFile: ${reason}`, {
        cause: error,
      })
    }
  }

  stop(): void {
    this.#client.close()
  }

  /** Webhooks with rules that match the write. */
  candidates(target: AdmissionTarget): readonly MatchedWebhook[] {
    return this.#webhooks.value.candidates(target)
  }

  /**
   * Evaluates objectSelector, namespaceSelector and matchConditions. Throws ApiError if they cannot be
   * evaluated.
   */
  async shouldCall(matchedWebhook: MatchedWebhook, request: AdmissionAttributes): Promise<boolean> {
    const { namespaceSelector, objectSelector, matchConditions = [] } = matchedWebhook.webhook
    if (!selectsObject(compileLabelSelector(objectSelector), request)) return false
    const isSelected = await selectsNamespace(
      this.#options.context,
      compileLabelSelector(namespaceSelector),
      request,
    )
    return isSelected && (matchConditions.length === 0 || this.#matchesConditions(matchedWebhook, request))
  }

  async #matchesConditions(
    { webhook, matched }: MatchedWebhook,
    request: AdmissionAttributes,
  ): Promise<boolean> {
    const { context, type } = this.#options
    const { clock } = context.platform
    const { object, oldObject, user, operation } = request
    const startedMs = clock.monotonicMs()
    const { matches, errors } = await this.#conditions.evaluate(webhook.matchConditions ?? [], {
      object: object ? await versioned(object, matched) : null,
      oldObject: oldObject ? await versioned(oldObject, matched) : null,
      request: requestFields(request, matched),
      user,
    })
    context.metrics?.admission.conditions(
      { name: webhook.name, kind: 'webhook', type: type === 'admit' ? 'admit' : 'validate', operation },
      { seconds: (clock.monotonicMs() - startedMs) / 1_000, errors: errors.length, isExcluded: !matches },
    )
    if (!matches || errors.length === 0) return matches
    if (webhook.failurePolicy === 'Ignore') return false
    const { resource, name } = request
    throw forbidden(
      { group: resource.group, kind: resource.plural, ...(name && { name }) },
      joinErrors(errors),
    )
  }

  /**
   * Calls a webhook and passes its patch to `use`. Returns undefined if the call failed and failurePolicy is
   * Ignore; the audit annotation `failedOpenKey` then names the webhook. Throws ApiError if the request is
   * rejected.
   */
  async review<T>(
    matchedWebhook: MatchedWebhook,
    request: AdmissionAttributes,
    {
      failedOpenKey,
      use,
    }: { readonly failedOpenKey: string; readonly use: (patch: readonly JsonValue[]) => T | Promise<T> },
  ): Promise<T | undefined> {
    const { clock } = this.#options.context.platform
    const startedMs = clock.monotonicMs()
    const measure = (result: Omit<WebhookResult, 'seconds'>): void => {
      this.#measure(matchedWebhook, request, {
        ...result,
        seconds: (clock.monotonicMs() - startedMs) / 1_000,
      })
    }
    try {
      const used = await use(await reviewByWebhook(this.#reviewer, matchedWebhook, request))
      measure({ code: 200 })
      return used
    } catch (error) {
      if (error instanceof WebhookCallError) {
        const isIgnored = matchedWebhook.webhook.failurePolicy === 'Ignore'
        measure({ code: error.code, ...(!isIgnored && { rejection: 'calling_webhook_error' }) })
        if (isIgnored) return this.#failOpen(matchedWebhook, request, { failedOpenKey, error })
        this.#warn(matchedWebhook, 'Failed calling webhook, failing closed', error)
        throw failure(matchedWebhook, error)
      }
      const isDenied = error instanceof WebhookDenial
      measure({
        code: isDenied ? error.code : 0,
        rejection: isDenied ? 'no_error' : 'apiserver_internal_error',
      })
      if (isDenied || !isApiError(error, 'InternalError')) throw error
      this.#warn(matchedWebhook, 'Failed applying the patch of a webhook', error)
      throw new LoggedApiError(error.status, { cause: error })
    }
  }

  #failOpen(
    matchedWebhook: MatchedWebhook,
    request: AdmissionAttributes,
    { failedOpenKey, error }: { readonly failedOpenKey: string; readonly error: WebhookCallError },
  ): undefined {
    const { context, type } = this.#options
    const { name } = matchedWebhook.webhook
    if (request.signal?.aborted) throw timeout('request did not complete within requested timeout', 0)
    this.#warn(matchedWebhook, 'Failed calling webhook, failing open', error)
    context.metrics?.admission.failedOpen({ name, type, operation: request.operation })
    request.addAuditAnnotation(failedOpenKey, name)
  }

  /** The error is not part of the key: it may quote the answer of the webhook, which may differ each time. */
  #warn({ webhook }: MatchedWebhook, message: string, error: Error): void {
    const { id, name, configuration } = webhook
    // The causes of the error only repeat its message.
    const fields = { webhook: name, configuration, error: error.message }
    this.#failures.warn(`${id} ${message}`, message, fields)
  }

  #measure(
    { webhook: { name } }: MatchedWebhook,
    { operation, onWebhookWait, origin }: AdmissionAttributes,
    result: WebhookResult,
  ): void {
    const { context, type } = this.#options
    if (origin) {
      const endedMs = origin.clock.monotonicMs()
      const startedMs = endedMs - result.seconds * 1_000
      origin.addStep({ name: 'webhook', startedMs, endedMs, detail: name })
    }
    // Validating webhooks are called in parallel; their plugin measures them together.
    if (type === 'admit') onWebhookWait?.(result.seconds * 1_000)
    context.metrics?.admission.called({ name, type, operation }, result)
  }

  #readWebhookCredentials(): Promise<WebhookCredentials> {
    this.#callers ??=
      this.#kubeConfigFile === undefined ? noCredentials : this.#readKubeconfig(this.#kubeConfigFile)
    return this.#callers
  }

  async #readKubeconfig(path: string): Promise<WebhookCredentials> {
    const { connectHttp, platform } = this.#options.context
    if (connectHttp === undefined) throw new Error('outgoing HTTP is not configured')
    return readWebhookCredentials(platform, path)
  }
}

const noCredentials: Promise<WebhookCredentials> = Promise.resolve({ users: new Map() })

function failure({ webhook: { name } }: MatchedWebhook, error: WebhookCallError): ApiError {
  const { status } = internalError(`failed calling webhook ${quote(name)}: ${error.message}`)
  return new LoggedApiError(status, { cause: error })
}
