/** The stages that every server has. Who the client is and what it may do are decided here, once. */
import { apiError, forbidden, internalError, timeout, unauthorized, type ApiError } from '#/api/errors.ts'
import type { Platform } from '#/platform/platform.ts'
import type { RequestAuthentication } from './authn.ts'
import { isAuthenticated } from './authn/authenticator.ts'
import { attributesOf, type Attributes, type Authorizer } from './authz/authorizer.ts'
import type { Stage } from './pipeline.ts'
import type { RequestInfo } from './request-info.ts'
import { annotate } from './request.ts'

/** Who sends the request; from here on it carries nothing that proves it. */
export function authenticate(authentication: RequestAuthentication): Stage {
  return async (context, next) => {
    const found = authentication.authenticate(context.request)
    const outcome = found instanceof Promise ? await found : found
    context.request = authentication.withoutCredentials(context.request)
    if (!isAuthenticated(outcome)) throw unauthorized()
    const { user, warnings, annotations } = outcome
    context.user = user
    if (warnings) for (const text of warnings) context.warnings.add(text)
    if (annotations) for (const [key, value] of Object.entries(annotations)) annotate(context, key, value)
    return next()
  }
}

export function authorize(authorizer: Authorizer): Stage {
  return async (context, next) => {
    const attributes = attributesOf(context.user, context.info, context.request.query)
    const { decision, reason, error } = await authorizer.authorize(attributes)
    if (decision === 'allow') return next()
    // Whether somebody may do it is not known: that is our failure and not theirs.
    throw error === undefined ? refusal(attributes, reason) : internalError(error)
  }
}

/** Says what somebody may not do. */
export function refusal({ user: { username }, ...info }: Attributes, reason: string): ApiError {
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

/** A request that is not meant to last is answered in time, if only to say that it was not done in time. */
export function limitTime(platform: Platform): Stage {
  return async (context, next) => {
    if (isLong(context.info)) return next()
    const { promise, reject } = Promise.withResolvers<never>()
    const timer = platform.clock.setTimer(requestMsMax, () => {
      reject(timeout('request did not complete within the allotted timeout', 0))
    })
    try {
      return await Promise.race([next(), promise])
    } finally {
      timer.cancel()
    }
  }
}

const requestMsMax = 60_000

const longSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy'])

function isLong(info: RequestInfo): boolean {
  return info.isResource && (info.verb === 'watch' || longSubresources.has(info.subresource))
}

/** While the server starts and stops it does not take requests for resources. */
export function whenReady(isReady: () => boolean): Stage {
  return (context, next) => {
    if (context.info.isResource && !isReady()) {
      throw apiError('ServiceUnavailable', 'the server is not ready', { retryAfterSeconds: 1 })
    }
    return next()
  }
}
