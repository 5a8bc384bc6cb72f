/**
 * The request pipeline: stages in order. Each stage runs before the stages that follow it and sees their response; any
 * stage may throw an error, which is converted to a `Status` here and nowhere else.
 */
import { ApiError, apiError, badRequest, internalError } from '#/api/errors.ts'
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { apiErrorOf } from './registry/store-errors.ts'
import { negotiateError } from './negotiation.ts'
import { requestInfo, type RequestInfo } from './request-info.ts'
import type { ApiRequest, ApiResponse, RequestContext, UserInfo } from './request.ts'
import { valueBody } from './view.ts'

/** Throws or rejects with ApiError. */
export type Stage = (context: RequestContext, next: Next) => Promise<ApiResponse>

/** The rest of the pipeline. */
export type Next = (context: RequestContext) => Promise<ApiResponse>

export type Handle = (request: ApiRequest) => Promise<ApiResponse>

/** An error that was already logged where it occurred, with more detail than the pipeline has. */
export class LoggedApiError extends ApiError {}

/** Clients see plain text; components in this process see the Status. */
export class PlainTextError extends ApiError {
  readonly text: string

  constructor(error: ApiError, text = error.message) {
    super(error.status)
    this.text = text
  }
}

/** No handler serves the path. */
export class PathNotFoundError extends PlainTextError {
  constructor() {
    super(apiError('NotFound', 'the server could not find the requested resource'), '404 page not found')
  }
}

export function pipeline(platform: Platform, stages: readonly Stage[], route: Next): Handle {
  const failures = new ThrottledLog(platform)
  const run = stages.reduceRight<Next>((next, stage) => context => stage(context, next), route)
  const { clock } = platform
  return async request => {
    clock.beginWork('request', request.path)
    let context: Context | undefined
    try {
      context = contextOf(platform, request)
      return withHeaders(await run(context), context)
    } catch (thrown) {
      const error = apiErrorOf(thrown) ?? thrown
      logFailure(failures, request, error)
      const response = errorResponse(request, error)
      return context ? withHeaders(response, context) : response
    }
  }
}

/** The user before authentication has run. */
const unauthenticated = { username: '', groups: [] }

function contextOf(platform: Platform, request: ApiRequest): Context {
  const info = requestInfo(request.method, request.path, request.query)
  if (info === undefined) throw badRequest('the path of the request cannot be decoded')
  return new Context(request, info, platform.clock.now())
}

/** Rarely used fields are allocated lazily. All contexts have the same shape. */
class Context implements RequestContext {
  request: ApiRequest
  readonly info: RequestInfo
  user: UserInfo = unauthenticated
  readonly receivedMs: number
  impersonation: NonNullable<RequestContext['impersonation']> | undefined = undefined
  responseHeaders: Readonly<Record<string, string>> | undefined = undefined
  bodyAnnotations: Map<string, string> | undefined = undefined
  origin: RequestContext['origin'] = undefined
  isAudited = false
  stageStartedMs = 0
  excludedMs = 0
  isTerminated = false
  #warnings: Set<string> | undefined = undefined
  #annotations: Map<string, string> | undefined = undefined

  constructor(request: ApiRequest, info: RequestInfo, receivedMs: number) {
    this.request = request
    this.info = info
    this.receivedMs = receivedMs
  }

  get hasWarnings(): boolean {
    return this.#warnings !== undefined && this.#warnings.size > 0
  }

  get warnings(): Set<string> {
    return (this.#warnings ??= new Set())
  }

  get annotations(): Map<string, string> {
    return (this.#annotations ??= new Map())
  }
}

/**
 * An error that is not an ApiError is a defect of the API server. 500 with a reason means that a dependency failed (a
 * kubelet, a webhook, the store); 500 without a reason was returned by a webhook. 503 and 504 are logged where they
 * occur, once for many requests.
 */
function logFailure(failures: ThrottledLog, { method, path }: ApiRequest, error: unknown): void {
  const fields = { method, path, error }
  if (!(error instanceof ApiError)) {
    failures.error(
      String(error).slice(0, keyCharactersMax),
      'apiserver received an error that is not a metav1.Status',
      fields,
    )
  } else if (error.code === 500 && error.reason !== '' && !(error instanceof LoggedApiError)) {
    failures.warn(`${error.reason} ${method} ${path}`.slice(0, keyCharactersMax), 'Request failed', fields)
  }
}

/** Maximum length of a throttling key. */
const keyCharactersMax = 200

function errorResponse(request: ApiRequest, error: unknown): ApiResponse {
  const known = error instanceof ApiError ? error : undefined
  const { status, code } = known ?? internalError('unexpected error (details are in the server log)', error)
  if (known instanceof PlainTextError) return plainText(known)
  const retryAfter = status.details?.retryAfterSeconds
  return {
    status: code,
    ...(retryAfter !== undefined && { headers: { 'retry-after': String(retryAfter) } }),
    body: valueBody(status, formFor(request)),
  }
}

function plainText({ code, status, text }: PlainTextError): ApiResponse {
  return {
    status: code,
    headers: { 'x-content-type-options': 'nosniff' },
    body: {
      type: 'value',
      mediaType: 'text/plain; charset=utf-8',
      value: status,
      bytes: () => [Buffer.from(`${text}\n`)],
    },
  }
}

/** Errors are encoded in the negotiated format, or as JSON if negotiation fails. */
function formFor({ headers, query }: ApiRequest): ReturnType<typeof negotiateError> {
  try {
    return negotiateError(headers['accept'], query, headers['user-agent'])
  } catch {
    return { format: 'json', pretty: false }
  }
}

/** Adds the headers and warnings that stages have set. */
function withHeaders(response: ApiResponse, context: Context): ApiResponse {
  const { responseHeaders, hasWarnings } = context
  if (!hasWarnings && responseHeaders === undefined) return response
  if (!hasWarnings && response.headers === undefined) return { ...response, headers: responseHeaders! }
  const texts = [...context.warnings].slice(0, warningsMax).map(text => `299 - "${escape(text)}"`)
  const warning = texts.length > 0 && { warning: texts }
  return { ...response, headers: { ...response.headers, ...responseHeaders, ...warning } }
}

/** Maximum number of warnings per response, and of characters per warning. */
const warningsMax = 50
const warningCharactersMax = 256

function escape(text: string): string {
  return text
    .slice(0, warningCharactersMax)
    .replaceAll(/[^\x20-\x7e]/g, ' ')
    .replaceAll(/["\\]/g, '\\$&')
}
