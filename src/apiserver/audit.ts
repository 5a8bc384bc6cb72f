/**
 * Audit logging: records audit events for requests at several stages, as the audit policy selects.
 * Credentials are never recorded. https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
 */
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import { internalError, isApiError } from '#/api/errors.ts'
import type { WebhookTarget } from '#/kubeconfig/webhook-kubeconfig.ts'
import { AuditContext } from './audit/audit-context.ts'
import { compilePolicy, type AuditDecision, type EvaluatePolicy } from './audit/compile-policy.ts'
import { AuditLog, type AuditLogSettings } from './audit/log.ts'
import type { AuditPolicy } from './audit/policy.ts'
import { RecordedBody, withBody } from './audit/recorded-body.ts'
import { AuditWebhook, type AuditWebhookSettings } from './audit/webhook.ts'
import type { AuditMetrics } from './metrics/access.ts'
import { onUpgradeEnd } from './on-upgrade-end.ts'
import type { Next, Stage } from './pipeline.ts'
import type { ApiResponse, RequestContext, StreamBody, StreamChunk } from './request.ts'
import { RemoteServer, type RemoteServerOptions } from './remote-server.ts'

export { AuditLog, type AuditLogSettings } from './audit/log.ts'
export { parseAuditPolicy, type AuditPolicy } from './audit/policy.ts'
export { AuditWebhook, type AuditWebhookSettings } from './audit/webhook.ts'

/**
 * In the blocking modes a request waits until its event is written; `blocking-strict` also rejects a request
 * if writing RequestReceived fails.
 */
export type AuditMode = 'batch' | 'blocking' | 'blocking-strict'

/** Destination of audit events. */
export interface AuditBackend {
  readonly mode: AuditMode
  /**
   * Queues an event (one line of JSON), or drops it when the queue is full. Returns undefined in batch mode;
   * otherwise resolves to true once it is written.
   */
  record(line: string): Promise<boolean> | undefined
  /** Runs until aborted, then until all queued events are written. */
  run(signal: AbortSignal): Promise<void>
}

export interface AuditSettings {
  readonly policy: AuditPolicy
  readonly log?: AuditLogSettings
  readonly webhook?: AuditWebhookSettings & { readonly remote: WebhookTarget }
}

export interface OpenAuditOptions {
  readonly platform: Platform
  readonly connectHttp: HttpConnect
  readonly metrics?: AuditMetrics
}

export function openAudit(
  { policy, log, webhook }: AuditSettings,
  { platform, connectHttp, metrics }: OpenAuditOptions,
): Audit {
  const { clock } = platform
  const onLost = (plugin: 'log' | 'webhook') => (count: number) => metrics?.recordErrors(plugin, count)
  const backends = [
    ...(log ? [new AuditLog({ ...log, platform, onLost: onLost('log') })] : []),
    ...(webhook
      ? [
          new AuditWebhook({
            ...webhook,
            platform,
            onLost: onLost('webhook'),
            post: postEvents({ clock, connectHttp, remote: webhook.remote }),
          }),
        ]
      : []),
  ]
  return new Audit({ platform, policy, backends, metrics })
}

export interface AuditOptions {
  readonly platform: Platform
  readonly policy: AuditPolicy
  readonly backends: readonly AuditBackend[]
  readonly metrics?: AuditMetrics | undefined
}

export class Audit {
  readonly #platform: Platform
  readonly #backends: readonly AuditBackend[]
  readonly #decide: EvaluatePolicy
  readonly #metrics: AuditMetrics | undefined

  constructor({ platform, policy, backends, metrics }: AuditOptions) {
    this.#metrics = metrics
    this.#platform = platform
    this.#backends = backends
    this.#decide = compilePolicy(policy)
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#backends.map(backend => backend.run(signal)))
  }

  /** Runs after authentication and before impersonation. */
  readonly stage: Stage = (context, next) => {
    const decision = this.#decide(context.user, context.info)
    this.#metrics?.level(decision.level).add()
    return decision.level === 'None' ? next(context) : this.#audit(context, next, decision)
  }

  /** Runs before authentication, to record requests that fail authentication and never reach `stage`. */
  readonly unauthenticatedStage: Stage = async (context, next) => {
    try {
      return await next(context)
    } catch (error) {
      if (isApiError(error, 'Unauthorized')) this.#recordRefusal(context, error)
      throw error
    }
  }

  async #audit(context: RequestContext, next: Next, decision: AuditDecision): Promise<ApiResponse> {
    const entry = this.#enter(context, decision)
    context.isAudited = true
    context.responseHeaders = { ...context.responseHeaders, 'audit-id': entry.id }
    const received = entry.record('RequestReceived')
    if (received && !(await received)) {
      this.#metrics?.rejected.add()
      throw internalError('failed to write audit event')
    }
    const body = entry.wantsRequest ? new RecordedBody(context.request) : undefined
    if (body) context.request = withBody(context.request, body)
    try {
      const response = await next(context)
      entry.answered(response, body)
      if (response.body?.type === 'stream') {
        // The client may disconnect before the stream is read.
        context.request.signal.addEventListener('abort', () => void entry.record('ResponseComplete'), {
          once: true,
        })
        return watched(response, response.body, entry)
      }
      if (response.body?.type === 'upgrade') {
        void entry.record('ResponseStarted')
        return { ...response, body: onUpgradeEnd(response.body, () => void entry.record('ResponseComplete')) }
      }
      await entry.record('ResponseComplete')
      return response
    } catch (error) {
      entry.failed(error, body)
      await entry.record(isApiError(error) ? 'ResponseComplete' : 'Panic')
      throw error
    }
  }

  #recordRefusal(context: RequestContext, error: unknown): void {
    // For an authenticated user, `stage` has already recorded the request.
    if (context.user.username !== '') return
    const decision = this.#decide(context.user, context.info)
    if (decision.level === 'None') return
    const entry = this.#enter(context, decision)
    entry.failed(error, undefined)
    void entry.record('ResponseComplete')
  }

  #enter(context: RequestContext, decision: AuditDecision): AuditContext {
    const record = (line: string): Promise<boolean> | undefined => {
      this.#metrics?.events.add()
      const written = this.#backends.flatMap(backend => {
        const waiting = backend.record(line)
        return waiting ? [waiting.then(isWritten => isWritten || backend.mode !== 'blocking-strict')] : []
      })
      return written.length === 0 ? undefined : Promise.all(written).then(all => all.every(Boolean))
    }
    return new AuditContext(context, { decision, record, platform: this.#platform })
  }
}

/** Records ResponseComplete when the stream is fully read or closed. */
function watched(response: ApiResponse, body: StreamBody, entry: AuditContext): ApiResponse {
  void entry.record('ResponseStarted')
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    try {
      yield* body.chunks
    } finally {
      void entry.record('ResponseComplete')
    }
  }
  return { ...response, body: { ...body, chunks: chunks() } }
}

interface PostEventsOptions extends Pick<RemoteServerOptions, 'clock' | 'connectHttp'> {
  readonly remote: WebhookTarget
}

/** Bounds for posting one batch: request timeout and response size. */
const postTimeoutMs = 30_000
const postAnswerBytesMax = 1024 * 1024

/** Posts audit events to a webhook; any status but 2xx is a failure. */
function postEvents(options: PostEventsOptions): (body: string) => Promise<void> {
  const { clock, connectHttp, remote } = options
  const { origin, pathname, search } = new URL(remote.url)
  const server = new RemoteServer({
    clock,
    connectHttp,
    origin,
    answerBytesMax: postAnswerBytesMax,
    ...(remote.tls && { tls: remote.tls }),
  })
  return async body => {
    const question = { path: `${pathname}${search}`, body: Buffer.from(body), timeoutMs: postTimeoutMs }
    const { status } = await server.request({
      ...question,
      ...(remote.headers && { headers: remote.headers }),
    })
    if (status < 200 || status > 299) throw new Error(`unexpected status ${status}`)
  }
}
