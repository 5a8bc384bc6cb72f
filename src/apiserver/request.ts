/**
 * What the stages of the pipeline and the handlers work on. Requests and answers themselves are those of the API, which
 * clients know too.
 */
import type { ApiRequest, UserInfo } from '#/api/transport.ts'
import type { RequestInfo } from './request-info.ts'

export type {
  ApiRequest,
  ApiResponse,
  Peer,
  RequestBody,
  StreamBody,
  StreamChunk,
  UserInfo,
  ValueBody,
} from '#/api/transport.ts'

/** What the stages of the pipeline find out about a request, for those that follow. */
export interface RequestContext {
  request: ApiRequest
  readonly info: RequestInfo
  /** As whom the request is done. */
  user: UserInfo
  /** There when that is not who has sent it. */
  impersonation?: { readonly requester: UserInfo; readonly constraint: string } | undefined
  /** Texts for `Warning` headers, in order, without repetitions. */
  readonly warnings: Set<string>
  /** Headers of the answer, whatever that will be. */
  responseHeaders?: Readonly<Record<string, string>> | undefined
  /** Whether the audit log says anything of the request, so that more should be known. */
  isAudited?: boolean
  /** What the audit log adds to its entry of the request; see `AdmissionRequest.annotate`. */
  readonly annotations: Map<string, string>
  /** The same, where it also has the body. */
  bodyAnnotations?: Map<string, string> | undefined
  /** Wall time at which the request came. */
  readonly receivedMs: number
}

/** An annotation stays as it was first made: a plugin that runs twice must not contradict itself. */
export function annotate(
  context: RequestContext,
  key: string,
  value: string,
  about: 'request' | 'body' = 'request',
): void {
  const annotations = about === 'request' ? context.annotations : (context.bodyAnnotations ??= new Map())
  if (!annotations.has(key)) annotations.set(key, value)
}
