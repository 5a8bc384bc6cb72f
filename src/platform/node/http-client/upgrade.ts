import type { IncomingMessage } from 'node:http'
import { http } from '../builtin-http.ts'
import type { HttpClientOptions, HttpUpgrade, HttpUpgradeRequest } from '../../http-client.ts'
import { responseOf } from './response.ts'
import { failureOf, interrupted, plain } from './http1.ts'
import { connectHttp1 } from './tls.ts'

/** One request on a new connection, which is handed to the caller if the server accepts the upgrade. */
export async function requestUpgrade(
  options: HttpClientOptions,
  request: HttpUpgradeRequest,
): Promise<HttpUpgrade> {
  const { signal } = request
  const origin = new URL(options.origin)
  const socket = await connectHttp1(options, signal)
  const { promise, resolve, reject } = Promise.withResolvers<HttpUpgrade>()
  const outgoing = http.request({
    createConnection: () => socket,
    path: request.path,
    method: request.method,
    headers: {
      'host': origin.host,
      'accept-encoding': 'identity',
      ...request.headers,
      'connection': 'Upgrade',
    },
  })
  const abort = (): void => {
    socket.destroy()
    reject(signal?.reason)
  }
  signal?.addEventListener('abort', abort, { once: true })
  const settle = (): void => signal?.removeEventListener('abort', abort)
  outgoing.once('upgrade', (incoming: IncomingMessage, connection, head) => {
    settle()
    const { statusCode: status = 0 } = incoming
    resolve({ type: 'upgraded', status, headers: plain(incoming), connection, head })
  })
  outgoing.once('response', incoming => {
    incoming.once('close', settle)
    const failed = (cause: Error): Error => interrupted(origin, cause, true)
    const ends = { isCut: () => !incoming.complete, cancel: () => void socket.destroy() }
    const answer = { stream: incoming, status: incoming.statusCode ?? 0, headers: plain(incoming) }
    const { keepContentEncoding } = request
    resolve({
      type: 'refused',
      response: responseOf({ ...answer, keepContentEncoding, failed, signal, ...ends }),
    })
  })
  outgoing.on('error', cause => {
    settle()
    socket.destroy()
    reject(failureOf(origin, outgoing, cause))
  })
  outgoing.once('close', () =>
    reject(interrupted(origin, new Error('the server closed the connection'), true)),
  )
  if (signal?.aborted) abort()
  outgoing.end()
  return promise
}
