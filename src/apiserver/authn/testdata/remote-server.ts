/** A fake external server for authenticators: no sockets, and every request is counted. */
import { HttpClientError, readWholeBody, type HttpConnect } from '#/platform/http-client.ts'

export interface RemoteRequest {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: unknown
}

/**
 * An object is returned with status 200, a number is a status without body, a string is sent as is, and
 * `unreachable` fails the connection.
 */
export type RemoteAnswer = object | number | string

export interface RemoteServer {
  readonly connect: HttpConnect
  readonly requests: readonly RemoteRequest[]
}

export function remoteServer(answer: (request: RemoteRequest) => RemoteAnswer): RemoteServer {
  const requests: RemoteRequest[] = []
  const connect: HttpConnect = ({ origin }) => ({
    request: async ({ method, path, headers = {}, body }) => {
      const request = {
        url: `${origin}${path}`,
        method,
        headers,
        body: body && (JSON.parse(Buffer.from(await readWholeBody(body)).toString()) as unknown),
      }
      requests.push(request)
      const given = answer(request)
      if (given === 'unreachable')
        throw new HttpClientError('unreachable', 'connection refused', { sent: false })
      const text = typeof given === 'string' ? given : typeof given === 'number' ? '' : JSON.stringify(given)
      return {
        status: typeof given === 'number' ? given : 200,
        headers: {},
        body: (async function* () {
          yield Buffer.from(text)
        })(),
        discard: () => undefined,
      }
    },
    upgrade: () => Promise.reject(new Error('upgrade is not supported')),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
  return { connect, requests }
}
