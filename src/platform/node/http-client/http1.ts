import { request as requestPlain, type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import { HttpClientError, type HttpClientRequest, type HttpClientResponse } from '../../http-client.ts'
import { answerOf } from './answer.ts'
import { unreachable } from './tls.ts'

/** One request on a connection of its own, taken from the agent and given back to it. */
export function requestHttp1(
  origin: URL,
  agent: Agent,
  request: HttpClientRequest,
): Promise<HttpClientResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpClientResponse>()
  const { signal, body } = request
  const send = origin.protocol === 'http:' ? requestPlain : requestTls
  const outgoing = send({
    protocol: origin.protocol,
    host: origin.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: origin.port || (origin.protocol === 'http:' ? 80 : 443),
    path: request.path,
    method: request.method,
    agent,
    headers: {
      'accept-encoding': 'identity',
      ...request.headers,
      ...(body !== undefined && { 'content-length': body.length }),
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
    resolve(answerOf({ stream: incoming, status, headers: plain(incoming), failed, signal, ...ends }))
  })
  let isConnected = false
  const connected = (): void => {
    isConnected = true
  }
  outgoing.once('socket', socket => {
    if (outgoing.reusedSocket) connected()
    else socket.once(origin.protocol === 'http:' ? 'connect' : 'secureConnect', connected)
  })
  outgoing.on('error', cause => {
    reject(isConnected ? failureOf(origin, outgoing, cause) : unreachable(origin.origin, cause))
  })
  outgoing.once('close', () => signal?.removeEventListener('abort', abort))
  outgoing.end(body)
  return promise
}

const garbageCodes = /^HPE_/

function failureOf(origin: URL, outgoing: ClientRequest, cause: NodeJS.ErrnoException): HttpClientError {
  if (garbageCodes.test(cause.code ?? '')) {
    return new HttpClientError('garbage', `${origin.origin} does not speak HTTP: ${cause.message}`, {
      cause,
      sent: true,
    })
  }
  // The server closed a kept connection at the moment we used it: what only reads may be read again (RFC
  // 9110, 9.2.2).
  const isStale = outgoing.reusedSocket && cause.code === 'ECONNRESET' && outgoing.method === 'GET'
  return interrupted(origin, cause, !isStale)
}

function interrupted(origin: URL, cause: Error, sent: boolean): HttpClientError {
  return new HttpClientError('interrupted', `the connection to ${origin.origin} broke: ${cause.message}`, {
    cause,
    sent,
  })
}

function plain({ headers }: IncomingMessage): Record<string, string | undefined> {
  const result: Record<string, string | undefined> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    result[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return result
}
