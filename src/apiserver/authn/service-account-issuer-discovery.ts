/**
 * OIDC discovery documents of the service account issuer, with which other servers verify tokens.
 * https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/
 */
import { apiError } from '#/api/errors.ts'
import { toJsonWebKey } from '#/base/json-web-key.ts'
import type { ApiResponse, RequestContext } from '../request.ts'
import type { ServiceAccountIssuer } from './service-account-issuer.ts'

export interface ServiceAccountIssuerDiscoveryOptions {
  readonly issuer: ServiceAccountIssuer
  /** URL of the key set, reachable by other servers. */
  readonly keysUrl: string
}

export const keysPath = '/openid/v1/jwks'

const configurationPath = '/.well-known/openid-configuration'

export class ServiceAccountIssuerDiscovery {
  readonly #documents: ReadonlyMap<string, ApiResponse>

  constructor({ issuer, keysUrl }: ServiceAccountIssuerDiscoveryOptions) {
    const keys = issuer.keys.map(toJsonWebKey)
    const configuration = {
      issuer: issuer.url,
      jwks_uri: keysUrl,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(keys.map(key => key['alg'] ?? ''))].sort(),
    }
    // Discovery requires an https issuer URL.
    this.#documents = issuer.url.startsWith('https://')
      ? new Map([
          [configurationPath, document('application/json', configuration)],
          [keysPath, document('application/jwk-set+json', { keys })],
        ])
      : new Map()
  }

  /** False if no document is served. */
  get isServed(): boolean {
    return this.#documents.size > 0
  }

  get paths(): readonly string[] {
    return [...this.#documents.keys()]
  }

  /** Undefined for other paths. Throws ApiError 405. */
  handle({ info }: Pick<RequestContext, 'info'>): ApiResponse | undefined {
    const found = info.isResource ? undefined : this.#documents.get(info.path.replace(/\/$/, ''))
    if (found === undefined) return undefined
    if (info.verb !== 'get' && info.verb !== 'head') {
      throw apiError('MethodNotAllowed', 'the server does not allow this method on the requested resource')
    }
    return found
  }
}

function document(mediaType: string, value: object): ApiResponse {
  const bytes = Buffer.from(JSON.stringify(value))
  return {
    status: 200,
    headers: { 'cache-control': 'public, max-age=3600' },
    body: { type: 'value', mediaType, value, bytes: () => [bytes] },
  }
}
