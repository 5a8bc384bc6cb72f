import {
  constants,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2'
import { HttpClientError, type HttpClientRequest, type HttpClientResponse } from '../../http-client.ts'
import { responseOf } from './response.ts'
import { sendBody } from './send-body.ts'
import type { SessionLease } from './session-pool.ts'

/** One request on a connection with a free stream. */
export function requestHttp2(
  origin: URL,
  lease: SessionLease,
  request: HttpClientRequest,
): Promise<HttpClientResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpClientResponse>()
  const { signal } = request
  let stream: ClientHttp2Stream
  try {
    stream = lease.session.request(headersOf(origin, request), { endStream: request.body === undefined })
  } catch (cause) {
    lease.release()
    throw new HttpClientError('interrupted', `the connection to ${origin.origin} has closed`, {
      cause,
      sent: false,
    })
  }
  const give = (reason: unknown): void => {
    stream.close(constants.NGHTTP2_CANCEL)
    stream.destroy()
    reject(reason)
  }
  const abort = (): void => give(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()
  stream.once('response', headers => {
    const { ':status': status = 0 } = headers
    const failed = (cause: Error): Error => interrupted(origin, stream, cause)
    const isCut = (): boolean => stream.aborted || (stream.rstCode ?? 0) !== constants.NGHTTP2_NO_ERROR
    const answer = {
      stream,
      status,
      headers: plain(headers),
      setCookies: headers['set-cookie'],
      keepsEncoding: request.keepContentEncoding,
      failed,
      signal,
      isCut,
      cancel: () => cancel(stream),
    }
    resolve(responseOf(answer))
  })
  stream.once('error', cause => reject(interrupted(origin, stream, cause)))
  stream.once('close', () => {
    lease.release()
    signal?.removeEventListener('abort', abort)
    reject(interrupted(origin, stream, new Error('the server closed the stream')))
  })
  const { body } = request
  if (body instanceof Uint8Array) stream.end(body)
  else if (body !== undefined) sendBody(stream, body, give)
  return promise
}

function cancel(stream: ClientHttp2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL)
  stream.destroy()
}

function headersOf(origin: URL, { method, path, headers, body }: HttpClientRequest): OutgoingHttpHeaders {
  // HTTP/2 has `:authority` instead of `host` (RFC 9113, 8.3.1).
  const { host = origin.host, ...others } = headers ?? {}
  return {
    ':method': method,
    ':path': path,
    ':scheme': 'https',
    ':authority': String(host),
    'accept-encoding': 'identity',
    ...others,
    ...(body instanceof Uint8Array && { 'content-length': String(body.length) }),
  }
}

function interrupted(origin: URL, stream: ClientHttp2Stream, cause: Error): HttpClientError {
  const { code } = cause as NodeJS.ErrnoException
  // A server that shuts down refuses the streams it has not processed (RFC 9113, 6.8 and 8.7), so a retry is
  // safe.
  const isRefused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || code === 'ERR_HTTP2_GOAWAY_SESSION'
  const text = `the connection to ${origin.origin} broke: ${cause.message}`
  return new HttpClientError('interrupted', text, { cause, sent: !isRefused })
}

function plain(headers: IncomingHttpHeaders): Record<string, string | undefined> {
  const result: Record<string, string | undefined> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(':')) result[name] = Array.isArray(value) ? value.join(', ') : String(value)
  }
  return result
}
