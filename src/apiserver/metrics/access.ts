/** Metrics of authentication, authorization and audit. */
import type {
  Histogram,
  HistogramSeries,
  MetricsRegistry,
  ScalarMetric,
  ScalarSeries,
} from '#/base/metrics.ts'
import { alpha, commonBuckets, exponentialBuckets } from './family.ts'

type AuthenticationOutcome = 'success' | 'failure' | 'error'

export type AuthorizationOutcome = 'allowed' | 'denied' | 'no-opinion' | 'error'

interface OutcomeSeries {
  readonly attempts: ScalarSeries
  readonly duration: HistogramSeries
}

export interface WebhookEvaluation {
  readonly name: string
  /** `success`, `timeout`, `canceled` or `error`. */
  readonly result: string
  readonly seconds: number
  /** The error was ignored, because of failurePolicy NoOpinion. */
  readonly isFailOpen: boolean
}

export class AccessMetrics {
  readonly #users: ScalarMetric
  readonly #authentications: Attempts<AuthenticationOutcome>
  readonly #authorizations: Attempts<AuthorizationOutcome>
  readonly #decisions: ScalarMetric
  readonly #webhookDuration: Histogram
  readonly #webhookEvaluations: ScalarMetric
  readonly #webhookFailOpen: ScalarMetric
  readonly #tokenRequests: ScalarMetric
  readonly #tokenFetches: ScalarMetric
  readonly #tokenDuration: Histogram
  /** Seconds until the client certificates of requests expire. */
  readonly certificateExpiration: HistogramSeries
  readonly serviceAccounts: Readonly<
    Record<'valid' | 'stale' | 'legacy' | 'legacyAuto' | 'legacyManual' | 'invalidLegacyAuto', ScalarSeries>
  >
  readonly audit: AuditMetrics

  constructor(registry: MetricsRegistry) {
    this.#users = registry.counter(families.users)
    this.#authentications = new Attempts(
      registry.counter(families.authenticationAttempts),
      registry.histogram(families.authenticationDuration),
    )
    this.#authorizations = new Attempts(
      registry.counter(families.authorizationAttempts),
      registry.histogram(families.authorizationDuration),
    )
    this.#decisions = registry.counter(families.decisions)
    this.#webhookDuration = registry.histogram(families.webhookDuration)
    this.#webhookEvaluations = registry.counter(families.webhookEvaluations)
    this.#webhookFailOpen = registry.counter(families.webhookFailOpen)
    this.#tokenRequests = registry.counter(families.tokenRequests)
    this.#tokenFetches = registry.counter(families.tokenFetches)
    this.#tokenDuration = registry.histogram(families.tokenDuration)
    this.certificateExpiration = registry.histogram(families.certificateExpiration).with()
    const tokens = (name: string, help: string): ScalarSeries =>
      registry.counter(alpha(`serviceaccount_${name}`, help)).with()
    this.serviceAccounts = {
      valid: tokens('valid_tokens_total', 'Uses of valid service account tokens.'),
      stale: tokens('stale_tokens_total', 'Uses of tokens that are valid only for the extended time.'),
      legacy: tokens('legacy_tokens_total', 'Uses of legacy service account tokens.'),
      legacyAuto: tokens(
        'legacy_auto_token_uses_total',
        'Uses of legacy tokens that were created automatically.',
      ),
      legacyManual: tokens(
        'legacy_manual_token_uses_total',
        'Uses of legacy tokens that were created manually.',
      ),
      invalidLegacyAuto: tokens(
        'invalid_legacy_auto_token_uses_total',
        'Uses of legacy tokens that were created automatically and are invalidated.',
      ),
    }
    this.audit = new AuditMetrics(registry)
  }

  recordAuthentication(outcome: AuthenticationOutcome, seconds: number): void {
    this.#authentications.record(outcome, seconds)
  }

  recordUser(username: string): void {
    this.#users.with(userCategory(username)).add()
  }

  recordAuthorization(outcome: AuthorizationOutcome, seconds: number): void {
    this.#authorizations.record(outcome, seconds)
  }

  /** The series of an authorizer and its decision, for the caller to keep. */
  decisions(type: string, name: string, decision: 'allowed' | 'denied'): ScalarSeries {
    return this.#decisions.with(type, name, decision)
  }

  recordWebhook({ name, result, seconds, isFailOpen }: WebhookEvaluation): void {
    this.#webhookDuration.with(name, result).observe(seconds)
    this.#webhookEvaluations.with(name, result).add()
    if (isFailOpen) this.#webhookFailOpen.with(name, result).add()
  }

  recordTokenCache(outcome: 'hit' | 'miss', seconds: number): void {
    this.#tokenRequests.with(outcome).add()
    this.#tokenDuration.with(outcome).observe(seconds)
  }

  recordTokenFetch(outcome: 'ok' | 'error'): void {
    this.#tokenFetches.with(outcome).add()
  }
}

export class AuditMetrics {
  readonly events: ScalarSeries
  /** Requests rejected because their event could not be written. */
  readonly rejected: ScalarSeries
  readonly #errors: ScalarMetric
  readonly #levels: ScalarMetric

  constructor(registry: MetricsRegistry) {
    this.events = registry.counter(alpha('apiserver_audit_event_total', 'Audit events.')).with()
    this.rejected = registry
      .counter(alpha('apiserver_audit_requests_rejected_total', 'Requests that could not be audited.'))
      .with()
    this.#errors = registry.counter(
      alpha('apiserver_audit_error_total', 'Audit events that a backend has lost.', ['plugin']),
    )
    this.#levels = registry.counter(
      alpha('apiserver_audit_level_total', 'Requests by the level of the audit policy.', ['level']),
    )
  }

  level(level: string): ScalarSeries {
    return this.#levels.with(level)
  }

  recordErrors(plugin: 'log' | 'webhook', count: number): void {
    this.#errors.with(plugin).add(count)
  }
}

/** Attempts and their duration, by outcome. Series appear with their first use. */
class Attempts<T extends string> {
  readonly #attempts: ScalarMetric
  readonly #duration: Histogram
  readonly #series = new Map<T, OutcomeSeries>()

  constructor(attempts: ScalarMetric, duration: Histogram) {
    this.#attempts = attempts
    this.#duration = duration
  }

  record(outcome: T, seconds: number): void {
    let series = this.#series.get(outcome)
    if (series === undefined) {
      series = { attempts: this.#attempts.with(outcome), duration: this.#duration.with(outcome) }
      this.#series.set(outcome, series)
    }
    series.attempts.add()
    series.duration.observe(seconds)
  }
}

/** Users are not told apart, so that their names are not disclosed and the number of series is bounded. */
function userCategory(username: string): string {
  if (knownUsers.has(username)) return username
  return username.includes('@') ? 'email_id' : 'other'
}

const knownUsers: ReadonlySet<string> = new Set([
  'admin',
  'client',
  'kube_proxy',
  'kubelet',
  'system:serviceaccount:kube-system:default',
])

const accessBuckets = exponentialBuckets(0.001, 2, 15)

const families = {
  users: alpha('authenticated_user_requests', 'Authenticated requests by category of user.', ['username']),
  authenticationAttempts: alpha('authentication_attempts', 'Authentications by result.', ['result']),
  authenticationDuration: {
    ...alpha('authentication_duration_seconds', 'Time of authentication.', ['result']),
    buckets: accessBuckets,
  },
  authorizationAttempts: alpha('authorization_attempts_total', 'Authorizations by result.', ['result']),
  authorizationDuration: {
    ...alpha('authorization_duration_seconds', 'Time of authorization.', ['result']),
    buckets: accessBuckets,
  },
  decisions: alpha(
    'apiserver_authorization_decisions_total',
    'Requests that an authorizer allowed or denied.',
    ['type', 'name', 'decision'],
  ),
  webhookDuration: {
    ...alpha('apiserver_authorization_webhook_duration_seconds', 'Time of calls of authorization webhooks.', [
      'name',
      'result',
    ]),
    buckets: commonBuckets,
  },
  webhookEvaluations: alpha(
    'apiserver_authorization_webhook_evaluations_total',
    'Calls of authorization webhooks.',
    ['name', 'result'],
  ),
  webhookFailOpen: alpha(
    'apiserver_authorization_webhook_evaluations_fail_open_total',
    'Failed calls of authorization webhooks whose failure was ignored.',
    ['name', 'result'],
  ),
  tokenRequests: alpha('authentication_token_cache_request_total', 'Lookups of tokens in the cache.', [
    'status',
  ]),
  tokenFetches: alpha(
    'authentication_token_cache_fetch_total',
    'Authentications of tokens not in the cache.',
    ['status'],
  ),
  tokenDuration: {
    ...alpha('authentication_token_cache_request_duration_seconds', 'Time to authenticate a token.', [
      'status',
    ]),
    buckets: commonBuckets,
  },
  certificateExpiration: {
    ...alpha(
      'apiserver_client_certificate_expiration_seconds',
      'Time until the client certificate of a request expires.',
    ),
    buckets: [
      0, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 345_600, 604_800, 2_592_000, 7_776_000,
      15_552_000, 31_104_000,
    ],
  },
} as const
