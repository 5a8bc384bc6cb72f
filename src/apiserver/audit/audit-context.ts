/** Builds the audit events of one request, stage by stage. */
import { ApiError } from '#/api/errors.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { formatMicroTime } from '#/api/text/time.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ApiRequest, ApiResponse, RequestContext, UserInfo, ValueBody } from '../request.ts'
import type { AuditDecision } from './compile-policy.ts'
import {
  userAgentOf,
  auditIdHeader,
  nameIn,
  objectReference,
  sourceIps,
  statusIn,
  statusOf,
  uriOf,
} from './event-parts.ts'
import type { AuditStage } from './policy.ts'
import { withoutManagedFields, type RecordedBody } from './recorded-body.ts'

export interface AuditContextOptions {
  readonly decision: AuditDecision
  readonly platform: Platform
  /**
   * Returns undefined when there is nothing to wait for; otherwise resolves to true if the request may
   * continue.
   */
  readonly record: (line: string) => Promise<boolean> | undefined
}

export class AuditContext {
  readonly id: string
  readonly #context: RequestContext
  readonly #options: AuditContextOptions
  /** The original request and user; impersonation may replace the user later. */
  readonly #request: ApiRequest
  readonly #user: UserInfo
  #name: string
  #status: object | undefined
  /** JSON in one line. */
  #requestObject: string | undefined
  #responseObject: string | undefined
  #isOver = false

  constructor(context: RequestContext, options: AuditContextOptions) {
    const { request, info, user } = context
    this.#context = context
    this.#options = options
    this.#request = request
    this.#user = user
    this.#name = info.isResource ? info.name : ''
    this.id = auditIdHeader(request) ?? options.platform.random.uuid('audit id')
  }

  get wantsRequest(): boolean {
    const { level } = this.#options.decision
    return this.#context.info.isResource && (level === 'Request' || level === 'RequestResponse')
  }

  get #wantsResponse(): boolean {
    return this.wantsRequest && this.#options.decision.level === 'RequestResponse'
  }

  answered({ status, body }: ApiResponse, sent: RecordedBody | undefined): void {
    this.#takeRequest(sent)
    this.#status = { metadata: {}, code: status }
    if (body?.type !== 'value') return
    // Other successful responses may be large and are not inspected.
    if (status >= 400 || answering.has(this.#context.info.verb)) this.#lookInto(body.value, status)
    if (this.#wantsResponse) this.#responseObject = this.#jsonOf(body)
  }

  #lookInto(value: unknown, code: number): void {
    const status = statusIn(value)
    if (status) this.#status = { ...status, code }
    this.#name ||= status?.details?.name ?? nameIn(value)
  }

  failed(error: unknown, sent: RecordedBody | undefined): void {
    this.#takeRequest(sent)
    const status = statusOf(error)
    this.#status = status
    this.#name ||= status.details?.name ?? ''
    if (this.#wantsResponse && error instanceof ApiError) this.#responseObject = JSON.stringify(error.status)
  }

  /** The final stage is recorded only once, whichever event ends the request first. */
  record(stage: AuditStage): Promise<boolean> | undefined {
    if (this.#isOver) return undefined
    this.#isOver = stage === 'ResponseComplete' || stage === 'Panic'
    const { decision, record } = this.#options
    if (decision.omitStages.has(stage)) return undefined
    const event = JSON.stringify(this.#event(stage)).slice(0, -1)
    const sent = this.#requestObject === undefined ? '' : `,"requestObject":${this.#requestObject}`
    const answered = this.#responseObject === undefined ? '' : `,"responseObject":${this.#responseObject}`
    return record(`${event}${sent}${answered}}`)
  }

  #event(stage: AuditStage): object {
    const { info, impersonation, user, receivedMs } = this.#context
    const annotations = [...this.#context.annotations, ...this.#bodyAnnotations]
    const constraint = impersonation?.constraint
    return {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: this.#options.decision.level,
      auditID: this.id,
      stage,
      requestURI: uriOf(this.#request),
      verb: info.verb,
      user: this.#user,
      ...(impersonation && { impersonatedUser: user }),
      ...(constraint && { authenticationMetadata: { impersonationConstraint: constraint } }),
      sourceIPs: sourceIps(this.#request),
      ...userAgentOf(this.#request),
      ...(info.isResource && { objectRef: objectReference(info, this.#name) }),
      ...(this.#status && { responseStatus: this.#status }),
      requestReceivedTimestamp: formatMicroTime(receivedMs),
      stageTimestamp: formatMicroTime(this.#options.platform.clock.now()),
      ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
    }
  }

  get #bodyAnnotations(): Iterable<[string, string]> {
    return this.wantsRequest ? (this.#context.bodyAnnotations ?? []) : []
  }

  #takeRequest(body: RecordedBody | undefined): void {
    const value = body?.read()
    if (value !== undefined) this.#requestObject = stringifyJson(this.#shown(value))
  }

  /** Reuses the encoded response bytes unless they are indented or managed fields must be omitted. */
  #jsonOf(body: ValueBody): string {
    if (body.mediaType.startsWith('application/json') && !this.#options.decision.omitManagedFields) {
      const text = Buffer.concat(body.bytes()).toString().trim()
      if (!text.includes('\n')) return text
    }
    return stringifyJson(this.#shown(body.value as JsonValue))
  }

  #shown(value: JsonValue): JsonValue {
    return this.#options.decision.omitManagedFields ? withoutManagedFields(value) : value
  }
}

/** Verbs with a response that is inspected for an object name or Status. */
const answering: ReadonlySet<string> = new Set(['create', 'delete'])
