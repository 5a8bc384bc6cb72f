/**
 * The transport between a component and an API server in the same process. A request runs through the whole
 * handler chain with the component's identity, but without sockets and serialization: the client gets the
 * server's own objects.
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { ApiRequest, ApiResponse, RequestBody, ResponseBody, UserInfo } from '#/api/transport.ts'
import { abortable, abortableEach } from '#/base/abort.ts'
import { messageOf } from '#/base/message-of.ts'
import { readAll } from '#/base/read-all.ts'
import {
  TransportError,
  type Transport,
  type TransportBody,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts'
import { readWatchFrames } from './watch-frames.ts'

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
      if (body === undefined || body.type === 'value') return body?.value
      if (body.type !== 'stream' || !body.isForwarded) {
        throw new TransportError('invalid-response', 'expected a single value, got a stream')
      }
      return readForwarded(bytes(body, signal))
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
  if (body.isForwarded) return yield* readWatchFrames(bytes(body, signal))
  for await (const chunks of abortableEach(body.chunks, signal)) yield chunks.map(chunk => chunk.value)
}

/** The value in the response of an extension server, which the API server has not decoded. */
async function readForwarded(pieces: AsyncIterable<Uint8Array>): Promise<unknown> {
  const all = await readAll(pieces, forwardedBytesMax)
  if (all.length === 0) return undefined
  try {
    return parseJson(all)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new TransportError('invalid-response', `response is not valid JSON: ${error.message}`, {
      cause: error,
    })
  }
}

/** Larger responses are rejected. */
const forwardedBytesMax = 400_000_000

async function* bytes(
  body: ResponseBody | undefined,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (body?.type === 'value') yield* body.bytes()
  if (body?.type !== 'stream') return
  try {
    for await (const chunks of abortableEach(body.chunks, signal)) {
      for (const chunk of chunks) yield chunk.bytes()
    }
  } catch (error) {
    signal.throwIfAborted()
    throw new TransportError('interrupted', messageOf(error), { cause: error })
  }
}

function joined(headers: Readonly<Record<string, string | readonly string[]>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      return [name, typeof value === 'string' ? value : value.join(', ')]
    }),
  )
}
