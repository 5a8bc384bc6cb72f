/** Forwards an upgrade request to an upstream server and joins the two connections. */
import { messageOf } from '#/base/message-of.ts'
import type { ApiError } from '#/api/errors.ts'
import type { HttpClient, HttpClientResponse, HttpUpgrade } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { nextSlice } from '#/platform/time-slices.ts'
import type { ApiRequest, ApiResponse } from '../request.ts'
import { requestHeaders, responseHeaders, upgradeHeaders, type UpstreamHeaders } from './forwarded-headers.ts'
import { streamResponse } from './forward-request.ts'
import { upstreamError } from './upstream-error.ts'
import { splice } from './splice.ts'

export interface ForwardUpgradeOptions {
  readonly clock: Clock
  readonly request: ApiRequest
  readonly client: HttpClient
  /** Upstream path with query. */
  readonly path: string
  /** Path on this server, for X-Forwarded-Uri; optional. */
  readonly uri?: string
  /** Added to the headers of the client. */
  readonly headers?: UpstreamHeaders
  /** The error for a refusal by the upstream; its response is forwarded if undefined. */
  readonly refusal?: (response: HttpClientResponse) => Promise<ApiError | undefined>
}

export async function forwardUpgrade(options: ForwardUpgradeOptions): Promise<ApiResponse> {
  const { clock } = options
  // The TLS handshake takes a millisecond or more: many upgrades at once must not delay other requests.
  await nextSlice(clock, 'upgrade')
  const upgrade = await ask(options)
  if (upgrade.type === 'refused') {
    const { response } = upgrade
    const error = await options.refusal?.(response)
    if (error !== undefined) throw error
    if (response.status < 400) {
      response.discard()
      throw upstreamError(`invalid upgrade response: status code ${response.status}`)
    }
    return { ...streamResponse(response), headers: responseHeaders(response.headers) }
  }
  const { status, headers, connection: backend, head: backendHead } = upgrade
  return {
    status,
    headers: upgradeHeaders(headers),
    body: {
      type: 'upgrade',
      mediaType: '',
      serve: client => splice({ clock, client, backend, backendHead }),
      discard: () => void backend.destroy(),
    },
  }
}

async function ask({
  request,
  client,
  path,
  uri,
  headers: added,
}: ForwardUpgradeOptions): Promise<HttpUpgrade> {
  const { method, signal, peer } = request
  const forwarding = { clientAddress: peer.address, ...(uri !== undefined && { uri }) }
  const headers = {
    ...requestHeaders(request.headers, forwarding),
    ...added,
    upgrade: request.headers['upgrade'] ?? '',
  }
  try {
    return await client.upgrade({ method, path, headers, signal, keepContentEncoding: true })
  } catch (error) {
    throw upstreamError(`error dialing backend: ${messageOf(error)}`, error)
  }
}
