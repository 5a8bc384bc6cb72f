/**
 * An HTTP server without a network: requests and responses are bytes in chunks of any size, which may be
 * truncated or corrupted.
 */
import type { ApiRequest, ApiResponse } from '#/api/transport.ts'
import {
  HttpClientError,
  readWholeBody,
  type HttpClientRequest,
  type HttpClientResponse,
  type HttpConnect,
} from '#/platform/http-client.ts'
import type { Random } from '#/platform/platform.ts'
import { abortable, abortableEach } from '#/base/abort.ts'
import { TransportError } from '../transport.ts'

export interface ByteFaults {
  readonly random: Random
  /** Probability of each chunk to be the last one, or to be corrupted. */
  chance: number
}

export function httpOverHandle(
  handle: (request: ApiRequest) => Promise<ApiResponse>,
  faults: ByteFaults,
): HttpConnect {
  return () => ({
    request: async request => {
      const signal = request.signal ?? new AbortController().signal
      const response = abortable(handle(apiRequest(request, signal)), signal)
      return answerOf(await response.catch(translated), faults, signal)
    },
    upgrade: () => Promise.reject(new Error('nobody upgrades')),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
}

function apiRequest(
  { method, path, headers = {}, body }: HttpClientRequest,
  signal: AbortSignal,
): ApiRequest {
  const url = new URL(path, 'https://server')
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: { bytes: () => readWholeBody(body) },
    signal,
    peer: { address: '127.0.0.1', user: { username: 'test', groups: ['system:masters'] } },
  }
}

function answerOf(
  { status, headers = {}, body }: ApiResponse,
  faults: ByteFaults,
  signal: AbortSignal,
): HttpClientResponse {
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
    body: spoiled(pieces(bytesOf(body), faults.random), faults, signal),
    discard: () => undefined,
  }
}

async function* bytesOf(body: ApiResponse['body']): AsyncGenerator<Uint8Array, void, undefined> {
  if (body?.type === 'value') yield* body.bytes()
  if (body?.type !== 'stream') return
  for await (const chunks of body.chunks) yield Buffer.concat(chunks.map(chunk => chunk.bytes()))
}

async function* pieces(
  source: AsyncIterable<Uint8Array>,
  random: Random,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length;) {
      const length = 1 + random.integer('length of a piece', 400)
      yield bytes.slice(at, at + length)
      at += length
    }
  }
}

async function* spoiled(
  source: AsyncIterable<Uint8Array>,
  faults: ByteFaults,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { random } = faults
  try {
    for await (const piece of abortableEach(source, signal)) {
      const isHit = random.fraction('byte fault') < faults.chance
      if (!isHit) {
        yield piece
        continue
      }
      const kind = random.integer('kind of byte fault', 3)
      if (kind === 0) return yield piece.slice(0, random.integer('cut', piece.length))
      if (kind === 1) throw new HttpClientError('interrupted', 'the connection broke', { sent: true })
      yield Buffer.from('\u0000}{not json\n')
    }
  } catch (error) {
    translated(error)
  }
}

function translated(error: unknown): never {
  if (!(error instanceof TransportError)) throw error
  const reason = error.reason === 'unreachable' ? 'unreachable' : 'interrupted'
  throw new HttpClientError(reason, error.message, { sent: error.sent })
}
