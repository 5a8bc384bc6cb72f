/**
 * What others need to verify tokens of service accounts themselves: who has issued them, and with which keys.
 * https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/
 * /
 */
import { apiError } from '#/api/errors.ts'
import { toJsonWebKey } from '#/base/json-web-key.ts'
import type { ApiResponse, RequestContext } from '../request.ts'
import type { ServiceAccountIssuer } from './service-account-issuer.ts'

export interface IssuerMetadataOptions {
  readonly issuer: ServiceAccountIssuer
  /** Where others reach the keys. */
  readonly keysUrl: string
}

export const keysPath = '/openid/v1/jwks'

const configurationPath = '/.well-known/openid-configuration'

export class IssuerMetadata {
  readonly #documents: ReadonlyMap<string, ApiResponse>

  constructor({ issuer, keysUrl }: IssuerMetadataOptions) {
    const keys = issuer.keys.map(toJsonWebKey)
    const configuration = {
      issuer: issuer.url,
      jwks_uri: keysUrl,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [...new Set(keys.map(key => key['alg'] ?? ''))].sort(),
    }
    // Without a URL that others can ask there is nothing to discover, and whoever verifies has the keys
    // otherwise.
    this.#documents = issuer.url.startsWith('https://')
      ? new Map([
          [configurationPath, document('application/json', configuration)],
          [keysPath, document('application/jwk-set+json', { keys })],
        ])
      : new Map()
  }

  /** Undefined when the path is none of these. Throws ApiError 405. */
  handle({ info }: Pick<RequestContext, 'info'>): ApiResponse | undefined {
    const found = info.isResource ? undefined : this.#documents.get(info.path)
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
