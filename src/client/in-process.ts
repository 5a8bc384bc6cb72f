/**
 * The transport between a component and an API server in the same process. A request runs through the whole
 * handler chain with the component's identity, but without sockets and serialization: the client gets the
 * server's own objects.
 */
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { ApiRequest, ApiResponse, RequestBody, ResponseBody, UserInfo } from '#/api/transport.ts'
import { abortable, abortableEach } from '#/base/abort.ts'
import {
  TransportError,
  type Transport,
  type TransportBody,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts'

export interface InProcessOptions {
  /** The API server. */
  readonly handle: (request: ApiRequest) => Promise<ApiResponse>
  readonly user: UserInfo
}

export function inProcessTransport({ handle, user }: InProcessOptions): Transport {
  const peer = { address: '127.0.0.1', user }
  return {
    request: async request => {
      const { method, path, query, signal, body } = request
      signal.throwIfAborted()
      const headers = { ...request.headers, ...(body && { 'content-type': body.mediaType }) }
      const response = handle({ method, path, query, headers, body: requestBody(body), signal, peer })
      return answer(await abortable(response, signal), request)
    },
  }
}

function requestBody(body: TransportBody | undefined): RequestBody {
  if (body === undefined) return { bytes: async () => new Uint8Array() }
  if ('bytes' in body) return { bytes: async () => body.bytes }
  const { value } = body
  return { value, bytes: async () => Buffer.from(stringifyJson(value as JsonValue)) }
}

function answer(
  { status, headers = {}, body }: ApiResponse,
  { signal }: TransportRequest,
): TransportResponse {
  return {
    status,
    headers: { ...joined(headers), ...(body?.mediaType && { 'content-type': body.mediaType }) },
    value: async () => {
      if (body !== undefined && body.type !== 'value') {
        throw new TransportError('invalid-response', 'expected a single value, got a stream')
      }
      return body?.value
    },
    events: () => events(body, signal),
    bytes: () => bytes(body, signal),
    discard: () => {
      if (body?.type === 'stream')
        body.chunks[Symbol.asyncIterator]()
          .return?.()
          .catch(() => undefined)
    },
  }
}

async function* events(
  body: ResponseBody | undefined,
  signal: AbortSignal,
): AsyncGenerator<readonly unknown[], void, undefined> {
  if (body?.type !== 'stream') {
    throw new TransportError('invalid-response', 'expected a stream, got a single value')
  }
  for await (const chunks of abortableEach(body.chunks, signal)) yield chunks.map(chunk => chunk.value)
}

async function* bytes(
  body: ResponseBody | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body?.type === 'value') yield* body.bytes()
  if (body?.type !== 'stream') return
  for await (const chunks of abortableEach(body.chunks, signal)) {
    for (const chunk of chunks) yield chunk.bytes()
  }
}

function joined(headers: Readonly<Record<string, string | readonly string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      return [name, typeof value === 'string' ? value : value.join(', ')]
    }),
  )
}
