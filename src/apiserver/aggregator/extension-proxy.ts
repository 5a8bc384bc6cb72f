/**
 * Forwards requests to extension servers in the name of their users. Authentication, authorization, limits and
 * audit have run before, as for requests that this server answers itself.
 */
import { messageOf } from '#/base/message-of.ts'
import { badRequest, isApiError, serviceUnavailable } from '#/api/errors.ts'
import { parseJson } from '#/api/text/json.ts'
import type { Platform } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { PlainTextError } from '../pipeline.ts'
import { forwardRequest } from '../proxy/forward-request.ts'
import { forwardUpgrade } from '../proxy/forward-upgrade.ts'
import { responseHeaders } from '../proxy/forwarded-headers.ts'
import { escapeQuery, splitProxyPath } from '../proxy/proxy-path.ts'
import type { ApiRequest, ApiResponse, RequestContext } from '../request.ts'
import type { RemoteApiService } from './api-services.ts'
import type { ExtensionServer, ExtensionServers } from './extension-servers.ts'
import { identityHeaders } from './identity-headers.ts'

export interface ExtensionProxyOptions {
  readonly platform: Platform
  readonly servers: ExtensionServers
}

export class ExtensionProxy {
  readonly #options: ExtensionProxyOptions
  readonly #failures: ThrottledLog

  constructor(options: ExtensionProxyOptions) {
    this.#options = options
    this.#failures = new ThrottledLog(options.platform)
  }

  /** Rejects with ApiError. The errors of the proxy itself are plain text, as in Kubernetes. */
  async forward(context: RequestContext, remote: RemoteApiService): Promise<ApiResponse> {
    try {
      return await this.#forward(context, remote)
    } catch (error) {
      throw isApiError(error) && error.code === 503 ? new PlainTextError(error) : error
    }
  }

  async #forward(context: RequestContext, remote: RemoteApiService): Promise<ApiResponse> {
    const { request, info, user } = context
    if (!remote.isAvailable) throw serviceUnavailable('service unavailable')
    const server = this.#locate(remote)
    const path = pathOf(request)
    if (!info.isResource && info.verb === 'get' && isDiscoveryPath(info.path)) {
      return this.#readDiscovery({ request, user }, server, path)
    }
    // Relates the audit events of both servers.
    const auditId = context.responseHeaders?.['audit-id']
    const headers = {
      host: server.host,
      ...(auditId !== undefined && { 'audit-id': auditId }),
      ...identityHeaders(user),
    }
    const target = { request, client: server.client, path, uri: request.path, headers }
    if (request.isUpgrade) return forwardUpgrade({ ...target, clock: this.#options.platform.clock })
    return forwardRequest(target)
  }

  #locate({ name, server }: RemoteApiService): ExtensionServer {
    try {
      return this.#options.servers.locate(server)
    } catch (error) {
      this.#failures.warn(name, 'Failed to resolve the service of an APIService', { apiService: name, error })
      throw serviceUnavailable('service unavailable')
    }
  }

  /** Clients that discover all group versions must not wait for one that does not answer. */
  async #readDiscovery(
    { request, user }: Pick<RequestContext, 'request' | 'user'>,
    server: ExtensionServer,
    path: string,
  ): Promise<ApiResponse> {
    const { accept, 'if-none-match': known, 'user-agent': userAgent } = request.headers
    const headers = {
      ...(accept !== undefined && { accept }),
      ...(known !== undefined && { 'if-none-match': known }),
      ...(userAgent !== undefined && { 'user-agent': userAgent }),
    }
    try {
      const { signal } = request
      const limits = { timeoutMs: discoveryTimeoutMs, answerBytesMax: discoveryBytesMax, signal }
      const answer = await this.#options.servers.request(server, { path, user, headers, ...limits })
      const { 'content-type': mediaType = '', 'content-length': _, ...others } = answer.headers
      const { status, bytes } = answer
      return {
        status,
        headers: responseHeaders(others),
        ...(bytes.length > 0 && {
          body: {
            type: 'value',
            mediaType,
            get value() {
              return parseJson(bytes)
            },
            bytes: () => [bytes],
          },
        }),
      }
    } catch (error) {
      throw serviceUnavailable(`error trying to reach service: ${messageOf(error)}`)
    }
  }
}

const discoveryTimeoutMs = 5_000

const discoveryBytesMax = 4 * 1024 * 1024

/** `/apis/GROUP/VERSION` */
function isDiscoveryPath(path: string): boolean {
  return path.split('/').filter(segment => segment !== '').length === 3
}

/** The path as sent, with the query. Throws ApiError. */
function pathOf({ path, search, query }: ApiRequest): string {
  // The extension server could resolve such segments to another path than the one that was authorized.
  if (/(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(path)) {
    throw badRequest('the path of the request must not contain . or .. segments')
  }
  const parameters = escapeQuery(search ?? query.toString())
  return `${splitProxyPath(path, 0).rest}${parameters === '' ? '' : `?${parameters}`}`
}
