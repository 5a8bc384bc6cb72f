/** Forwards a request to an upstream server and streams the response back with backpressure. */
import { messageOf } from '#/base/message-of.ts'
import { ApiError, isApiError, serviceUnavailable } from '#/api/errors.ts'
import type { HttpClient, HttpClientResponse } from '#/platform/http-client.ts'
import type { ApiRequest, ApiResponse, StreamBody, StreamChunk } from '../request.ts'
import { requestHeaders, responseHeaders, type UpstreamHeaders } from './forwarded-headers.ts'
import { rewritePage } from './rewrite-page.ts'

export interface ForwardRequestOptions {
  readonly request: ApiRequest
  readonly client: HttpClient
  /** Upstream path with query. */
  readonly path: string
  /** Path on this server, for X-Forwarded-Uri. */
  readonly uri: string
  /**
   * For pages, whose links and redirects are rewritten to lead back through the proxy. Absent for API servers, whose
   * redirects are refused.
   */
  readonly origins?: Origins
  /** Added to the headers of the client. */
  readonly headers?: UpstreamHeaders
  /** Cancels the request and the response; that of the client when absent. */
  readonly signal?: AbortSignal
}

export async function forwardRequest(options: ForwardRequestOptions): Promise<ApiResponse> {
  const { request, client, path, uri, origins } = options
  const { method, peer } = request
  const { signal = request.signal } = options
  const response = await reach(async () => {
    const forwarded = requestHeaders(request.headers, { clientAddress: peer.address, uri })
    const headers = { ...forwarded, ...options.headers }
    const body = await bodyOf(request)
    return client.request({ method, path, headers, ...(body && { body }), signal, keepContentEncoding: true })
  })
  const { location, 'content-type': mediaType = '' } = response.headers
  const { 'content-type': _type, ...headers } = responseHeaders(response.headers, response.setCookies)
  // There is no body, but the connection can be reused only after the response was read to its end.
  if (method === 'HEAD') for await (const _piece of response.body) continue
  const answer = streamResponse(response)
  if (origins === undefined) {
    const isRedirect = response.status >= 300 && response.status <= 399 && location !== undefined
    if (!isRedirect) return { ...answer, headers }
    response.discard()
    throw redirectError()
  }
  if (location !== undefined) {
    return { ...answer, headers: { ...headers, location: rewriteUrl(location, origins) } }
  }
  if (method === 'HEAD' || !/^text\/html(?:;|\s|$)/i.test(mediaType)) return { ...answer, headers }
  const page = await rewritePage(response, url => rewriteUrl(url, origins))
  const { 'content-length': _length, 'content-encoding': encoding, ...others } = headers
  return {
    ...answer,
    headers: { ...others, ...(encoding && page.keepsEncoding && { 'content-encoding': encoding }) },
    body: { ...answer.body, chunks: chunksOf(page.pieces) },
  }
}

/** A redirect could lead a client that trusts this server to any other. */
function redirectError(): ApiError {
  const message = 'the backend attempted to redirect this request, which is not permitted'
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const
  return new ApiError({ ...status, message, code: 502 })
}

/** The streamed response without its headers. */
export function streamResponse({ status, headers, body }: HttpClientResponse): StreamedResponse {
  const mediaType = headers['content-type'] ?? ''
  return {
    status,
    body: { type: 'stream', mediaType, isForwarded: true, chunks: chunksOf(body), stallMsMax },
  }
}

/**
 * Maximum time a client may pause reading, e.g. while paging through a log; equals the kubelet's streaming
 * timeout.
 */
const stallMsMax = 4 * 3_600_000

export interface StreamedResponse extends ApiResponse {
  readonly body: StreamBody
}

async function reach(ask: () => Promise<HttpClientResponse>): Promise<HttpClientResponse> {
  try {
    return await ask()
  } catch (error) {
    if (isApiError(error)) throw error
    throw serviceUnavailable(`error trying to reach service: ${messageOf(error)}`)
  }
}

/** Maximum size of a request body that is not streamed. */
const wholeBytesMax = 3 * 1024 * 1024

/** Reads the first chunk to find out whether there is a body at all. */
async function bodyOf({ body }: ApiRequest): Promise<Uint8Array | AsyncIterable<Uint8Array> | undefined> {
  if (body.chunks === undefined) {
    const bytes = await body.bytes(wholeBytesMax)
    return bytes.length === 0 ? undefined : bytes
  }
  const pieces = body.chunks()[Symbol.asyncIterator]()
  const first = await pieces.next()
  return first.done ? undefined : beginningWith(first.value, pieces)
}

async function* beginningWith(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield first
    for (;;) {
      const next = await rest.next()
      if (next.done) return
      yield next.value
    }
  } finally {
    await rest.return?.()
  }
}

async function* chunksOf(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<readonly StreamChunk[], void, undefined> {
  for await (const piece of pieces) yield [{ value: piece, bytes: () => piece }]
}

/** Addresses of the proxied page, upstream and on this server. */
interface Origins {
  /** Path on this server that corresponds to the upstream root. */
  readonly prefix: string
  /** Upstream `host:port`, e.g. `10.244.0.7:80`. */
  readonly backendHost: string
  /** Host of this server in the client's request. */
  readonly requestHost: string
}

/** Rewrites a link or Location header so that it leads back through the proxy. */
export function rewriteUrl(url: string, { prefix, backendHost, requestHost }: Origins): string {
  const parts = splitUrl(url)
  if (parts === undefined || !parts.path.startsWith('/')) return url
  const { origin, host, path, rest } = parts
  if (host !== '' && host !== backendHost && host !== requestHost) return url
  const kept = host !== '' && host === requestHost ? origin : ''
  return `${kept}${path.startsWith(prefix) ? '' : prefix}${path}${rest}`
}

interface UrlParts {
  readonly origin: string
  readonly host: string
  readonly path: string
  readonly rest: string
}

/** Undefined for URLs such as `mailto:` and `data:`. */
function splitUrl(url: string): UrlParts | undefined {
  const [origin = '', host = ''] = /^(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#]*)/i.exec(url) ?? []
  if (origin === '' && /^[a-z][a-z0-9+.-]*:/i.test(url)) return undefined
  const after = url.slice(origin.length)
  const end = after.search(/[?#]/)
  const path = end === -1 ? after : after.slice(0, end)
  return { origin, host, path, rest: after.slice(path.length) }
}
