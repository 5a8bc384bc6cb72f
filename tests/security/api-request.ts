/** Builds requests to an in-process server as they would arrive from the network. */
import type { ApiRequest, Peer } from '#/api/transport.ts'
import { users } from './users.ts'

export interface RequestParts {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string | object | undefined
  /** The peer of the connection; the administrator when absent. */
  readonly peer?: Partial<Peer>
}

/** `url` may have a query. */
export function apiRequest(method: string, url: string, parts: RequestParts = {}): ApiRequest {
  const { headers = {}, body, peer = { user: users.administrator } } = parts
  const question = url.indexOf('?')
  const bytes =
    body instanceof Uint8Array
      ? body
      : Buffer.from(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body))
  return {
    method,
    path: question === -1 ? url : url.slice(0, question),
    query: new URLSearchParams(question === -1 ? '' : url.slice(question + 1)),
    headers: { 'user-agent': 'test/1.0', ...headers },
    body: { bytes: () => Promise.resolve(bytes) },
    signal: new AbortController().signal,
    peer: { address: '192.0.2.1', ...peer },
  }
}
