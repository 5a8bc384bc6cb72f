/**
 * The audit log: who asked for what, when, and what came of it. Written down are requests, in several stages,
 * as the policy says; never anything that proves who somebody is.
 * https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
 */
import type { Platform } from '#/platform/platform.ts'
import { isApiError } from '#/api/errors.ts'
import { AuditEntry } from './audit/entry.ts'
import { compilePolicy, type AuditDecision, type Decide } from './audit/decide.ts'
import type { AuditPolicy } from './audit/policy.ts'
import { RecordedBody, withBody } from './audit/recorded-body.ts'
import type { Stage } from './pipeline.ts'
import type { ApiResponse, RequestContext, StreamBody, StreamChunk } from './request.ts'

export { AuditLog } from './audit/log.ts'
export { parseAuditPolicy, type AuditPolicy } from './audit/policy.ts'
export { AuditWebhook } from './audit/webhook.ts'

/** Where events go. */
export interface AuditBackend {
  /** Takes an event, as JSON in one line, or drops it when it has too many already. */
  record(line: string): void
  /** Works until aborted, then until everything taken is written. */
  run(signal: AbortSignal): Promise<void>
}

export interface AuditOptions {
  readonly platform: Platform
  readonly policy: AuditPolicy
  readonly backends: readonly AuditBackend[]
}

export class Audit {
  readonly #platform: Platform
  readonly #backends: readonly AuditBackend[]
  readonly #decide: Decide

  constructor({ platform, policy, backends }: AuditOptions) {
    this.#platform = platform
    this.#backends = backends
    this.#decide = compilePolicy(policy)
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#backends.map(backend => backend.run(signal)))
  }

  /** Comes after authentication, and before impersonation. */
  readonly stage: Stage = (context, next) => {
    const decision = this.#decide(context.user, context.info)
    return decision.level === 'None' ? next() : this.#audit(context, next, decision)
  }

  /** Comes before authentication: those whom it turns away are not seen by anybody else. */
  readonly refusals: Stage = async (context, next) => {
    try {
      return await next()
    } catch (error) {
      if (isApiError(error, 'Unauthorized')) this.#recordRefusal(context, error)
      throw error
    }
  }

  async #audit(
    context: RequestContext,
    next: () => Promise<ApiResponse>,
    decision: AuditDecision,
  ): Promise<ApiResponse> {
    const entry = this.#enter(context, decision)
    context.responseHeaders = { ...context.responseHeaders, 'audit-id': entry.id }
    entry.record('RequestReceived')
    const body = entry.wantsRequest ? new RecordedBody(context.request) : undefined
    if (body) context.request = withBody(context.request, body)
    try {
      const response = await next()
      entry.answered(response, body)
      if (response.body?.type === 'stream') {
        // Whoever asked may be gone before anything is read.
        context.request.signal.addEventListener('abort', () => entry.record('ResponseComplete'), {
          once: true,
        })
        return watched(response, response.body, entry)
      }
      entry.record('ResponseComplete')
      return response
    } catch (error) {
      entry.failed(error, body)
      entry.record(isApiError(error) ? 'ResponseComplete' : 'Panic')
      throw error
    }
  }

  #recordRefusal(context: RequestContext, error: unknown): void {
    // Past authentication the user is known, and the other stage has written the request down.
    if (context.user.username !== '') return
    const decision = this.#decide(context.user, context.info)
    if (decision.level === 'None') return
    const entry = this.#enter(context, decision)
    entry.failed(error, undefined)
    entry.record('ResponseComplete')
  }

  #enter(context: RequestContext, decision: AuditDecision): AuditEntry {
    const record = (line: string): void => {
      for (const backend of this.#backends) backend.record(line)
    }
    return new AuditEntry(context, { decision, record, platform: this.#platform })
  }
}

/** A stream is complete when its reader is done with it. */
function watched(response: ApiResponse, body: StreamBody, entry: AuditEntry): ApiResponse {
  entry.record('ResponseStarted')
  const chunks = async function* (): AsyncGenerator<readonly StreamChunk[], void, undefined> {
    try {
      yield* body.chunks
    } finally {
      entry.record('ResponseComplete')
    }
  }
  return { ...response, body: { ...body, chunks: chunks() } }
}
