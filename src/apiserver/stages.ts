/** Pipeline stages for authentication, authorization, timeouts and readiness. */
import { DurationError, parseDuration } from '#/api/text/duration.ts'
import {
  apiError,
  badRequest,
  forbidden,
  internalError,
  timeout,
  unauthorized,
  type ApiError,
} from '#/api/errors.ts'
import type { Clock } from '#/platform/platform.ts'
import type { RequestAuthentication } from './authn.ts'
import { anonymousName, isAuthenticated, type AuthenticationResult } from './authn/authenticator.ts'
import { attributesOf, type Attributes, type Authorization, type Authorizer } from './authz/authorizer.ts'
import { Deadlines } from './deadlines.ts'
import type { Metrics } from './metrics.ts'
import type { AccessMetrics, AuthorizationOutcome } from './metrics/access.ts'
import type { Next, Stage } from './pipeline.ts'
import { isConnectSubresource, isProfilePath, writesPath, type RequestInfo } from './request-info.ts'
import { annotate, type ApiResponse, type RequestContext } from './request.ts'

/** Where access decisions are recorded. */
export interface AccessRecorder {
  readonly metrics: AccessMetrics
  readonly clock: Clock
}

/** Authenticates the request and removes its credentials. */
export function authenticate(authentication: RequestAuthentication, recorder?: AccessRecorder): Stage {
  const record = ({ stageStartedMs }: RequestContext, result: AuthenticationResult): void => {
    if (recorder === undefined) return
    const { metrics, clock } = recorder
    const outcome = isAuthenticated(result) ? 'success' : result === undefined ? 'failure' : 'error'
    metrics.recordAuthentication(outcome, (clock.monotonicMs() - stageStartedMs) / 1_000)
    if (isAuthenticated(result)) metrics.recordUser(result.user.username)
  }
  const admit = (context: RequestContext, result: AuthenticationResult): void => {
    record(context, result)
    context.request = authentication.withoutCredentials(context.request)
    if (!isAuthenticated(result)) throw unauthorized()
    const { user, warnings, annotations } = result
    context.user = user
    if (user.username !== anonymousName) context.request.peer?.onAuthenticated?.()
    if (warnings) for (const text of warnings) context.warnings.add(text)
    if (annotations) for (const [key, value] of Object.entries(annotations)) annotate(context, key, value)
  }
  const admitLater = async (
    context: RequestContext,
    result: Promise<AuthenticationResult>,
    next: Next,
  ): Promise<ApiResponse> => {
    admit(context, await result)
    return next(context)
  }
  return (context, next) => {
    const result = authentication.authenticate(context.request)
    if (result instanceof Promise) return admitLater(context, result, next)
    admit(context, result)
    return next(context)
  }
}

/** Synchronous if the authorizer decides synchronously, which avoids a promise for most requests. */
export function authorize(authorizer: Authorizer, recorder?: AccessRecorder): Stage {
  const record = ({ stageStartedMs }: RequestContext, { decision, error }: Authorization): void => {
    if (recorder === undefined) return
    const { metrics, clock } = recorder
    const outcome = decision !== 'allow' && error !== undefined ? 'error' : outcomes[decision]
    metrics.recordAuthorization(outcome, (clock.monotonicMs() - stageStartedMs) / 1_000)
  }
  return (context, next) => {
    const attributes = attributesOf(context.user, context.info, context.request.query)
    const answer = authorizer.authorize(attributes)
    const later = async (promise: Promise<Authorization>): Promise<ApiResponse> => {
      const decided = await promise
      record(context, decided)
      enforce(context, attributes, decided)
      return next(context)
    }
    if (answer instanceof Promise) return later(answer)
    record(context, answer)
    enforce(context, attributes, answer)
    return next(context)
  }
}

const outcomes: Readonly<Record<Authorization['decision'], AuthorizationOutcome>> = {
  'allow': 'allowed',
  'deny': 'denied',
  'no opinion': 'no-opinion',
}

function enforce(
  context: RequestContext,
  attributes: Attributes,
  { decision, reason, error }: Authorization,
): void {
  const isAllowed = decision === 'allow'
  // An authorizer error is an internal error, not a denial.
  const isUnknown = !isAllowed && error !== undefined
  if (context.isAudited) {
    annotate(context, decisionAnnotation, isAllowed ? 'allow' : 'forbid')
    annotate(context, reasonAnnotation, isUnknown ? 'internal error' : reason)
  }
  if (isAllowed) return
  if (isUnknown) throw internalError(error)
  context.responseHeaders = { ...context.responseHeaders, 'x-content-type-options': 'nosniff' }
  throw forbiddenError(attributes, reason)
}

const decisionAnnotation = 'authorization.k8s.io/decision'
const reasonAnnotation = 'authorization.k8s.io/reason'

/** The Forbidden error of a denied request. */
export function forbiddenError({ user: { username }, ...info }: Attributes, reason: string): ApiError {
  const because = reason === '' ? '' : `: ${reason}`
  if (!info.isResource) {
    const text = `User "${username}" cannot ${info.verb} path "${info.path}"${because}`
    return forbidden({ group: '', kind: '' }, text)
  }
  const where = info.namespace === '' ? 'at the cluster scope' : `in the namespace "${info.namespace}"`
  const what = info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`
  const subject = { group: info.group, kind: info.resource, ...(info.name && { name: info.name }) }
  const text = `cannot ${info.verb} resource "${what}" in API group "${info.group}" ${where}${because}`
  return forbidden(subject, `User "${username}" ${text}`)
}

export interface RequestTimeoutOptions {
  readonly clock: Clock
  readonly metrics?: Metrics | undefined
}

/** Ends requests that are not long-running with a timeout error. The client may request a shorter timeout. */
export function requestTimeout({ clock, metrics }: RequestTimeoutOptions, requestMsMax: number): Stage {
  const deadlines = new Deadlines(clock, requestMsMax)
  return (context, next) => {
    if (isLong(context.info)) return next(context)
    const patienceMs = readPatience(context.request.query)
    return new Promise((resolve, reject) => {
      let isOver = false
      const expire = (): void => {
        isOver = true
        context.isTerminated = true
        reject(timeout('request did not complete within the allotted timeout', 0))
      }
      const timer = patienceMs < requestMsMax ? clock.setTimer(patienceMs, expire) : undefined
      const deadline = timer ? undefined : deadlines.add(expire)
      const finish = (): void => {
        timer?.cancel()
        if (deadline && !isOver) deadlines.delete(deadline)
      }
      const succeed = (response: ApiResponse): void => {
        finish()
        if (isOver) metrics?.requests.recordPostTimeout('ok')
        resolve(response)
      }
      const fail = (error: unknown): void => {
        finish()
        if (isOver) metrics?.requests.recordPostTimeout('error')
        reject(error)
      }
      try {
        next(context).then(succeed, fail)
      } catch (error) {
        fail(error)
      }
    })
  }
}

/** The client's `timeout` parameter; Infinity if absent or zero. Throws ApiError 400. */
function readPatience(query: URLSearchParams): number {
  const text = query.get('timeout')
  if (!text) return Infinity
  try {
    const nanoseconds = parseDuration(text)
    return nanoseconds > 0n ? Number(nanoseconds) / 1e6 : Infinity
  } catch (error) {
    if (!(error instanceof DurationError)) throw error
    throw badRequest(`invalid timeout specified in the request URL - ${error.message}`)
  }
}

function isLong(info: RequestInfo): boolean {
  if (!info.isResource) return isProfilePath(info.path) || info.path === writesPath
  return info.verb === 'watch' || isConnectSubresource(info)
}

/** Rejects resource requests while the server is starting or stopping. */
export function requireReady(isReady: () => boolean): Stage {
  return (context, next) => {
    if (context.info.isResource && !isReady()) {
      throw apiError('ServiceUnavailable', 'the server is not ready', { retryAfterSeconds: 1 })
    }
    return next(context)
  }
}
