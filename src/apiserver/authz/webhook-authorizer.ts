/**
 * Webhook authorization: posts a SubjectAccessReview to an external server and caches the response. Failed
 * calls are retried; if all fail, `onFailure` decides.
 * https://kubernetes.io/docs/reference/access-authn-authz/webhook/
 */
import type { SubjectAccessReviewSpec, SubjectAccessReviewStatus } from '#/api/generated/authorization/v1.ts'
import { backoffMs, type Backoff } from '#/base/backoff.ts'
import { LruMap } from '#/base/lru-map.ts'
import { HttpClientError, type HttpClientTls, type HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { AccessMetrics } from '../metrics/access.ts'
import { requestJson, HttpStatusError } from '../authn/request-json.ts'
import {
  noOpinion,
  type Attributes,
  type Authorization,
  type Authorizer,
  type Decision,
  type ResourceAttributes,
  type UserRules,
} from './authorizer.ts'
import { fieldRequirements, labelRequirements } from './selector-attributes.ts'

export interface AuthorizationWebhookSettings {
  /** The name in the AuthorizationConfiguration; empty for the webhook of the flags. */
  readonly name?: string
  readonly url: string
  readonly tls?: HttpClientTls
  /** Credentials of this server. */
  readonly headers?: Readonly<Record<string, string>>
  /** API version of SubjectAccessReview; defaults to v1beta1, like the flag. */
  readonly version?: 'v1' | 'v1beta1'
  readonly authorizedTtlMs?: number
  readonly unauthorizedTtlMs?: number
  /** Timeout of one attempt; defaults to the time left until the deadline. */
  readonly timeoutMs?: number
  /** Decision if the webhook is unavailable; defaults to no opinion. */
  readonly onFailure?: Extract<Decision, 'deny' | 'no opinion'>
  /** False if the webhook must not be called for this review; absent means always call. Throws MatchConditionError. */
  readonly matches?: (review: SubjectAccessReviewSpec) => boolean
}

/** The matchConditions could not be evaluated. */
export class MatchConditionError extends Error {}

export interface WebhookConnection {
  readonly platform: Pick<Platform, 'clock' | 'random' | 'log'>
  readonly connectHttp: HttpConnect
}

export interface WebhookAuthorizerOptions extends AuthorizationWebhookSettings, WebhookConnection {
  readonly metrics?: AccessMetrics | undefined
}

const authorizedTtlMsDefault = 300_000
const unauthorizedTtlMsDefault = 30_000

export class WebhookAuthorizer implements Required<Authorizer> {
  readonly #options: WebhookAuthorizerOptions
  readonly #known = new LruMap<string, Known>(answersMax)

  constructor(options: WebhookAuthorizerOptions) {
    this.#options = options
  }

  authorize(attributes: Attributes): Authorization | Promise<Authorization> {
    const spec = specOf(attributes)
    const unasked = this.#withoutAsking(spec)
    if (unasked) return unasked
    const key = JSON.stringify(spec)
    const known = this.#known.get(key)
    if (known && known.untilMs > this.#options.platform.clock.monotonicMs()) return decisionOf(known.status)
    return this.#call(spec, sizeOf(attributes) < rememberedCharactersMax ? key : undefined)
  }

  #withoutAsking(spec: SubjectAccessReviewSpec): Authorization | undefined {
    const { matches, onFailure = 'no opinion' } = this.#options
    if (matches === undefined) return undefined
    try {
      return matches(spec) ? undefined : noOpinion
    } catch (error) {
      if (!(error instanceof MatchConditionError)) throw error
      return { decision: onFailure, reason: '', error: error.message }
    }
  }

  rulesFor(): UserRules {
    return {
      resourceRules: [],
      nonResourceRules: [],
      incomplete: true,
      errors: ['webhook authorizer does not support user rule resolution'],
    }
  }

  async #call(spec: SubjectAccessReviewSpec, key: string | undefined): Promise<Authorization> {
    const {
      platform: { clock, log },
      url,
      onFailure = 'no opinion',
    } = this.#options
    const startedMs = clock.monotonicMs()
    const record = (result: string): void => {
      const seconds = (clock.monotonicMs() - startedMs) / 1_000
      const isFailOpen = result !== 'success' && onFailure === 'no opinion'
      this.#options.metrics?.recordWebhook({ name: this.#options.name ?? '', result, seconds, isFailOpen })
    }
    try {
      const status = readStatus(await this.#review(spec))
      record('success')
      if (key !== undefined) this.#remember(key, status)
      return decisionOf(status)
    } catch (error) {
      record(clock.monotonicMs() - startedMs >= deadlineMs ? 'timeout' : 'error')
      log.error('Failed to make webhook authorizer request', { url, error })
      const message = error instanceof Error ? error.message : 'unknown'
      return {
        decision: onFailure,
        reason: '',
        error: `authorization webhook unavailable: ${message}`,
      }
    }
  }

  #remember(key: string, status: SubjectAccessReviewStatus): void {
    const {
      platform: { clock },
      authorizedTtlMs,
      unauthorizedTtlMs,
    } = this.#options
    const ttlMs = status.allowed
      ? (authorizedTtlMs ?? authorizedTtlMsDefault)
      : (unauthorizedTtlMs ?? unauthorizedTtlMsDefault)
    if (ttlMs > 0) this.#known.set(key, { status, untilMs: clock.monotonicMs() + ttlMs })
  }

  async #review(spec: SubjectAccessReviewSpec): Promise<unknown> {
    const {
      platform: { clock, random },
      connectHttp,
      url,
      tls,
      headers,
      version = 'v1beta1',
      timeoutMs: tryMs = Infinity,
    } = this.#options
    const startedMs = clock.monotonicMs()
    for (let attempts = 1; ; attempts++) {
      const timeoutMs = Math.min(tryMs, deadlineMs - (clock.monotonicMs() - startedMs))
      try {
        return await requestJson({
          clock,
          connectHttp,
          url,
          timeoutMs,
          body: reviewOf(spec, version),
          ...(tls && { tls }),
          ...(headers && { headers }),
        })
      } catch (error) {
        const delayMs = backoffMs(attempts, backoff, random.fraction('authorization webhook retry'))
        const leftMs = deadlineMs - (clock.monotonicMs() - startedMs)
        if (attempts === attemptsMax || leftMs <= delayMs || !isPassing(error)) throw error
        await clock.sleep(delayMs)
      }
    }
  }
}

/** True if a retry may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof HttpStatusError
    ? [429, 500, 504].includes(error.status)
    : error instanceof HttpClientError && error.reason === 'interrupted'
}

interface Known {
  readonly status: SubjectAccessReviewStatus
  readonly untilMs: number
}

/** Maximum number of cached responses; the least recently used one is evicted. */
const answersMax = 8_192

/** Reviews longer than this are not cached, so that large requests cannot fill the memory. */
const rememberedCharactersMax = 10_000

/** Retry limits for one review: attempts and deadline. */
const attemptsMax = 5
const deadlineMs = 30_000

const backoff: Backoff = { initialMs: 500, maxMs: 10_000, factor: 1.5, jitter: 0.2 }

function specOf(attributes: Attributes): SubjectAccessReviewSpec {
  const {
    user: { username: user, uid, groups, extra },
  } = attributes
  return {
    ...(attributes.isResource
      ? { resourceAttributes: resourceAttributesOf(attributes) }
      : { nonResourceAttributes: { path: attributes.path, verb: attributes.verb } }),
    user,
    ...(groups.length > 0 && { groups }),
    ...(extra && { extra }),
    ...(uid && { uid }),
  }
}

type AskedAttributes = NonNullable<SubjectAccessReviewSpec['resourceAttributes']>

function resourceAttributesOf(attributes: ResourceAttributes): AskedAttributes {
  const { verb, group, version, resource, subresource, namespace, name } = attributes
  const all = { namespace, verb, group, version, resource, subresource, name }
  const given = Object.entries(all).filter(([, value]) => value !== '')
  const fields = fieldRequirements(attributes.fieldSelector).requirements
  const labels = labelRequirements(attributes.labelSelector).requirements
  return {
    ...Object.fromEntries(given),
    ...(fields.length > 0 && { fieldSelector: { requirements: fields } }),
    ...(labels.length > 0 && { labelSelector: { requirements: labels } }),
  }
}

/** v1beta1 names the field `group` instead of `groups`. */
function reviewOf({ groups, ...spec }: SubjectAccessReviewSpec, version: 'v1' | 'v1beta1'): object {
  return {
    kind: 'SubjectAccessReview',
    apiVersion: `authorization.k8s.io/${version}`,
    metadata: {},
    spec: { ...spec, ...(groups && (version === 'v1' ? { groups } : { group: groups })) },
    status: { allowed: false },
  }
}

function sizeOf(attributes: Attributes): number {
  if (!attributes.isResource) return attributes.verb.length + attributes.path.length
  const { verb, group, version, resource, subresource, namespace, name } = attributes
  return [verb, group, version, resource, subresource, namespace, name].reduce(
    (sum, { length }) => sum + length,
    0,
  )
}

function readStatus(value: unknown): SubjectAccessReviewStatus {
  const { status } = (typeof value === 'object' ? (value ?? {}) : {}) as { readonly status?: unknown }
  if (typeof status !== 'object' || status === null) throw new Error('response is not a SubjectAccessReview')
  const { allowed, denied, reason } = status as Readonly<Record<string, unknown>>
  return {
    allowed: allowed === true,
    ...(denied === true && { denied: true }),
    ...(typeof reason === 'string' && reason !== '' && { reason }),
  }
}

function decisionOf({ allowed, denied, reason = '' }: SubjectAccessReviewStatus): Authorization {
  if (denied && allowed) {
    return {
      decision: 'deny',
      reason,
      error: 'webhook subject access review returned both allow and deny response',
    }
  }
  return { decision: denied ? 'deny' : allowed ? 'allow' : 'no opinion', reason }
}
