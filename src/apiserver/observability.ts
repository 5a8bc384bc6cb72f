/**
 * The pipeline stage that serves health, metrics, `/statusz`, `/flagz` and `/debug/`, and the pipeline that serves them
 * while the API server is starting.
 */
import { serviceUnavailable } from '#/api/errors.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Audit } from './audit.ts'
import { authenticationByCertificate } from './authn.ts'
import type { ClientCertificatesOptions } from './authn/client-certificates.ts'
import { privilegedGroupAuthorizer } from './authz/always.ts'
import { allowed, type Authorizer } from './authz/authorizer.ts'
import type { Health } from './health.ts'
import { expositionResponse, type Metrics } from './metrics.ts'
import { PathNotFoundError, pipeline, type Handle, type Stage } from './pipeline.ts'
import type { ApiRequest, ApiResponse } from './request.ts'
import { authenticate, authorize } from './stages.ts'

export interface ObservabilityOptions {
  readonly health: Health
  readonly metrics: Metrics
  /** Content of a path under `/debug/`; undefined if the path is unknown. */
  readonly debug?: (path: string) => object | undefined
  /** Further pages; undefined for paths that are not theirs. */
  readonly pages?: readonly DebugPage[]
}

export type DebugPage = (request: ApiRequest) => ApiResponse | undefined | Promise<ApiResponse | undefined>

export interface Observability {
  readonly stage: Stage
  /** As `/` lists them. */
  readonly paths: () => readonly string[]
}

export function observability(options: ObservabilityOptions): Observability {
  return {
    stage: (context, next) =>
      !context.info.isResource && observed.test(context.request.path)
        ? answer(options, context.request)
        : next(context),
    paths: () => [...options.health.paths, '/flagz', '/metrics', '/metrics/slis', '/statusz'],
  }
}

const observed = /^\/(?:metrics$|metrics\/slis$|statusz$|flagz$|debug\/|(?:healthz|livez|readyz)(?:\/|$))/

async function answer(
  { health, metrics, debug, pages = [] }: ObservabilityOptions,
  request: ApiRequest,
): Promise<ApiResponse> {
  const { path, query, headers } = request
  if (path === '/metrics') return metrics.answer(headers['accept'])
  if (path === '/metrics/slis') return expositionResponse(health.slis, headers['accept'])
  for (const page of pages) {
    const shown = await page(request)
    if (shown) return shown
  }
  const said = path.startsWith('/debug/') ? debug?.(path) : undefined
  const response = said ? jsonAnswer(said) : await health.answer(path, query)
  if (response === undefined) throw new PathNotFoundError()
  return response
}

function jsonAnswer(value: object): ApiResponse {
  const bytes = (): Uint8Array[] => [Buffer.from(JSON.stringify(value))]
  return { status: 200, body: { type: 'value', mediaType: 'application/json', value, bytes } }
}

export interface StartingPipelineOptions {
  readonly platform: Platform
  readonly observability: Observability
  readonly certificates?: ClientCertificatesOptions
  readonly audit?: Audit
}

/**
 * Handles requests until the API server has started: authenticates by client certificate only, and rejects all
 * paths but those of `observability`.
 */
export function startingPipeline(options: StartingPipelineOptions): Handle {
  const { platform, audit, certificates } = options
  const stages = [
    rejectOthers,
    ...(audit ? [audit.unauthenticatedStage] : []),
    authenticate(authenticationByCertificate(certificates)),
    ...(audit ? [audit.stage] : []),
    authorize(whileStarting),
    options.observability.stage,
  ]
  return pipeline(platform, stages, () => Promise.reject(starting()))
}

/** Without authentication, so that clients that are not known yet are told to try again. */
const rejectOthers: Stage = (context, next) => {
  if (!observed.test(context.request.path)) throw starting()
  return next(context)
}

function starting(): Error {
  return serviceUnavailable('the server is starting')
}

/** Before RBAC is available: the health endpoints are open, everything else requires system:masters. */
const whileStarting: Authorizer = {
  authorize: attributes =>
    !attributes.isResource && health.test(attributes.path)
      ? allowed
      : privilegedGroupAuthorizer.authorize(attributes),
}

const health = /^\/(?:healthz|livez|readyz)(?:\/|$)/
