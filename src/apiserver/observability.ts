/**
 * What is said of the server itself: `/healthz`, `/livez`, `/readyz` and `/metrics`, and below `/debug` of what
 * runs beside it. It is answered in front of the rest, so that a server that is still starting, or has lost its
 * store, can say so.
 */
import { apiError, serviceUnavailable } from '#/api/errors.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Audit } from './audit.ts'
import { authenticationByCertificate, type RequestAuthentication } from './authn.ts'
import type { ClientCertificatesOptions } from './authn/client-certificates.ts'
import { administrators } from './authz/always.ts'
import { allowed, type Authorizer } from './authz/authorizer.ts'
import type { Health } from './health.ts'
import type { Metrics } from './metrics.ts'
import { pipeline, type Handle } from './pipeline.ts'
import type { ApiResponse } from './request.ts'
import { authenticate, authorize } from './stages.ts'

export interface ObservabilityOptions {
  readonly platform: Platform
  readonly health: Health
  readonly metrics: Metrics
  /** That of the rest of the server. Until there is one, and without it, senders are known by certificate. */
  readonly authentication?: () => RequestAuthentication | undefined
  readonly certificates?: ClientCertificatesOptions
  /** Who may look, once the server has started; administrators alone until then, and anybody at the health. */
  readonly authorizer?: () => Authorizer | undefined
  readonly audit?: Audit
  /** What there is to say below `/debug/`; undefined where there is nothing. */
  readonly debug?: (path: string) => object | undefined
  /** The rest of the server; undefined until it has started. */
  readonly server: () => Handle | undefined
}

export function withObservability(options: ObservabilityOptions): Handle {
  const { platform, health, metrics, audit, server } = options
  const early = authenticationByCertificate(options.certificates)
  const current = (): RequestAuthentication => options.authentication?.() ?? early
  const authentication: RequestAuthentication = {
    authenticate: request => current().authenticate(request),
    withoutCredentials: request => current().withoutCredentials(request),
  }
  const authorizer: Authorizer = {
    authorize: attributes => (options.authorizer?.() ?? whileStarting).authorize(attributes),
  }
  const stages = [
    ...(audit ? [audit.refusals] : []),
    authenticate(authentication),
    ...(audit ? [audit.stage] : []),
    authorize(authorizer),
  ]
  const observe = pipeline(platform, stages, async ({ request }) => {
    if (request.path === '/metrics') return metrics.answer()
    const said = request.path.startsWith('/debug/') ? options.debug?.(request.path) : undefined
    if (said !== undefined) return jsonAnswer(said)
    const answer = await health.answer(request.path, request.query)
    if (answer === undefined) throw apiError('NotFound', 'the server could not find the requested resource')
    return answer
  })
  const refuse = pipeline(platform, [], () => Promise.reject(serviceUnavailable('the server is starting')))
  return request => {
    if (observed.test(request.path)) return observe(request)
    return (server() ?? refuse)(request)
  }
}

function jsonAnswer(value: object): ApiResponse {
  const bytes = (): Uint8Array[] => [Buffer.from(JSON.stringify(value))]
  return { status: 200, body: { type: 'value', mediaType: 'application/json', value, bytes } }
}

const observed = /^\/(?:metrics$|debug\/|(?:healthz|livez|readyz)(?:\/|$))/

/** Roles are not read yet: anybody may ask how the server is, and administrators what they like. */
const whileStarting: Authorizer = {
  authorize: attributes =>
    !attributes.isResource && health.test(attributes.path) ? allowed : administrators.authorize(attributes),
}

const health = /^\/(?:healthz|livez|readyz)(?:\/|$)/
