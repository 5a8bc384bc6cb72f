import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import { http } from '../builtin-http.ts'
import {
  HttpClientError,
  type HttpClientOptions,
  type HttpClientRequest,
  type HttpClientResponse,
} from '../../http-client.ts'
import { responseOf } from './response.ts'
import { sendBody } from './send-body.ts'
import { connectTimeoutMs, endpointOf, unreachable } from './tls.ts'

/** One request on a connection taken from the agent and returned to it afterwards. */
export function requestHttp1(
  options: HttpClientOptions,
  agent: Agent,
  request: HttpClientRequest,
): Promise<HttpClientResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpClientResponse>()
  const { signal, body, keepContentEncoding } = request
  const origin = new URL(options.origin)
  const send = origin.protocol === 'http:' ? http.request : requestTls
  const outgoing = send({
    protocol: origin.protocol,
    ...endpointOf(origin),
    path: request.path,
    method: request.method,
    agent,
    headers: {
      'accept-encoding': 'identity',
      ...request.headers,
      ...framing(request),
    },
  })
  const abort = (): void => {
    outgoing.destroy()
    reject(signal?.reason)
  }
  signal?.addEventListener('abort', abort, { once: true })
  if (signal?.aborted) abort()
  outgoing.once('response', incoming => {
    const failed = (cause: Error): Error => interrupted(origin, cause, true)
    const status = incoming.statusCode ?? 0
    const ends = { isCut: () => !incoming.complete, cancel: () => void incoming.destroy() }
    const head = { status, headers: plain(incoming), setCookies: incoming.headers['set-cookie'] }
    resolve(responseOf({ stream: incoming, ...head, keepContentEncoding, failed, signal, ...ends }))
  })
  let isConnected = false
  outgoing.once('socket', socket => {
    // A proxied connection is handed over when it is established.
    isConnected = outgoing.reusedSocket || options.proxy !== undefined
    if (isConnected) return
    const limitMs = options.connectTimeoutMs ?? connectTimeoutMs
    const late = (): void => void socket.destroy(new Error(`connection timed out after ${limitMs} ms`))
    const timer = setTimeout(late, limitMs)
    socket.once('close', () => clearTimeout(timer))
    socket.once(origin.protocol === 'http:' ? 'connect' : 'secureConnect', () => {
      clearTimeout(timer)
      isConnected = true
    })
  })
  outgoing.on('error', cause => {
    if (cause instanceof HttpClientError) reject(cause)
    else reject(isConnected ? failureOf(origin, outgoing, cause) : unreachable(origin.origin, cause))
  })
  outgoing.once('close', () => signal?.removeEventListener('abort', abort))
  if (body === undefined || body instanceof Uint8Array) outgoing.end(body)
  else sendBody(outgoing, body, reason => (outgoing.destroy(), reject(reason)))
  return promise
}

/**
 * Node omits the framing header for methods that usually have no body, which would leave the body without an
 * end.
 */
function framing({ body, headers }: HttpClientRequest): Readonly<Record<string, string | number>> {
  if (body instanceof Uint8Array) return { 'content-length': body.length }
  const isFramed = body === undefined || headers?.['content-length'] !== undefined
  return isFramed ? {} : { 'transfer-encoding': 'chunked' }
}

const garbageCodes = /^HPE_/

export function failureOf(
  origin: URL,
  outgoing: ClientRequest,
  cause: NodeJS.ErrnoException,
): HttpClientError {
  if (garbageCodes.test(cause.code ?? '')) {
    return new HttpClientError(
      'invalid-response',
      `invalid HTTP response from ${origin.origin}: ${cause.message}`,
      {
        cause,
        sent: true,
      },
    )
  }
  // The server closed a kept-alive connection while it was being reused; a GET is safe to retry (RFC 9110,
  // 9.2.2).
  const isStale = outgoing.reusedSocket && cause.code === 'ECONNRESET' && outgoing.method === 'GET'
  return interrupted(origin, cause, !isStale)
}

export function interrupted(origin: URL, cause: Error, sent: boolean): HttpClientError {
  return new HttpClientError('interrupted', `the connection to ${origin.origin} broke: ${cause.message}`, {
    cause,
    sent,
  })
}

export function plain({ headers }: IncomingMessage): Record<string, string | undefined> {
  const result: Record<string, string | undefined> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    result[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}
