/**
 * Serves `/healthz`, `/livez`, `/readyz`, `/metrics` and `/debug/`. They are handled before the API server's
 * pipeline, so that they work while the server is starting or has lost its store.
 */
import { apiError, serviceUnavailable } from '#/api/errors.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Audit } from './audit.ts'
import { authenticationByCertificate, type RequestAuthentication } from './authn.ts'
import type { ClientCertificatesOptions } from './authn/client-certificates.ts'
import { privilegedGroupAuthorizer } from './authz/always.ts'
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
  /** Authentication of the API server; client certificates only until it is available. */
  readonly authentication?: () => RequestAuthentication | undefined
  readonly certificates?: ClientCertificatesOptions
  /**
   * Authorizer of the API server. Until it is available, only system:masters is allowed, except for the
   * health endpoints.
   */
  readonly authorizer?: () => Authorizer | undefined
  readonly audit?: Audit
  /** Content of a path under `/debug/`; undefined if the path is unknown. */
  readonly debug?: (path: string) => object | undefined
  /** Handler of all other requests; undefined until the server has started. */
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
    ...(audit ? [audit.unauthenticatedStage] : []),
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

/** Before RBAC is available: the health endpoints are open, everything else requires system:masters. */
const whileStarting: Authorizer = {
  authorize: attributes =>
    !attributes.isResource && health.test(attributes.path)
      ? allowed
      : privilegedGroupAuthorizer.authorize(attributes),
}

const health = /^\/(?:healthz|livez|readyz)(?:\/|$)/
