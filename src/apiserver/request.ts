/**
 * Types shared by pipeline stages and handlers. Requests and responses are defined in `api/transport.ts`,
 * which clients use too.
 */
import type { ApiRequest, UserInfo } from '#/api/transport.ts'
import type { RequestInfo } from './request-info.ts'
import type { RequestOrigin } from './request-origin.ts'

export type {
  ApiRequest,
  ApiResponse,
  GzipBody,
  Peer,
  Piece,
  PieceBatch,
  RequestBody,
  StreamBody,
  StreamChunk,
  UserInfo,
  ValueBody,
} from '#/api/transport.ts'

/** State of a request, extended by the stages of the pipeline. */
export interface RequestContext {
  request: ApiRequest
  readonly info: RequestInfo
  /** The effective user. */
  user: UserInfo
  /** Set if the effective user is impersonated. */
  impersonation?: { readonly requester: UserInfo; readonly constraint: string } | undefined
  /** Texts of `Warning` headers, in order and without duplicates. */
  readonly warnings: Set<string>
  /** Headers to add to the response. */
  responseHeaders?: Readonly<Record<string, string>> | undefined
  /** True if the request is audited, so that additional annotations are worthwhile. */
  isAudited?: boolean
  /** Audit annotations; see `WriteRequest.addAuditAnnotation`. */
  readonly annotations: Map<string, string>
  /** Audit annotations that are recorded only with the request body. */
  bodyAnnotations?: Map<string, string> | undefined
  /** Wall time at which the request was received. */
  readonly receivedMs: number
  /** Monotonic time at which the last measured stage ended. */
  stageStartedMs: number
  /** Time spent in webhooks and in the queues of priority and fairness. */
  excludedMs: number
  /** Set for requests that may write, if origins are recorded. */
  origin?: RequestOrigin | undefined
  /** The server ended the request itself, by a timeout or a limit. */
  isTerminated: boolean
}

/** The first value of a key wins, so that a plugin that runs twice does not overwrite its annotation. */
export function annotate({ annotations }: RequestContext, key: string, value: string): void {
  if (!annotations.has(key)) annotations.set(key, value)
}

/** An annotation that is recorded only with the request body. */
export function annotateBody(context: RequestContext, key: string, value: string): void {
  context.bodyAnnotations ??= new Map()
  if (!context.bodyAnnotations.has(key)) context.bodyAnnotations.set(key, value)
}
