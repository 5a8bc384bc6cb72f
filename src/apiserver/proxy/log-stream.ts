/** Streams an upstream response to the client, as a plain response or over a WebSocket. */
import { apiError, badRequest } from '#/api/errors.ts'
import type { HttpClientResponse } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import { answerHandshake, isWebSocketRequest } from '#/streams/web-socket-handshake.ts'
import { streamProtocols, sendStream } from '#/streams/web-socket-stream.ts'
import type { ApiRequest, ApiResponse } from '../request.ts'
import { streamResponse } from './forward-request.ts'

export interface LogStream {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly respond: (response: HttpClientResponse) => ApiResponse
}

export function openLogStream(request: ApiRequest, clock: Clock): LogStream {
  if (request.isUpgrade && isWebSocketRequest(request)) return beginWebSocket(request, clock)
  return {
    signal: request.signal,
    respond: response => ({
      status: 200,
      body: { ...streamResponse(response).body, mediaType: 'text/plain' },
    }),
  }
}

function beginWebSocket(request: ApiRequest, clock: Clock): LogStream {
  const { method, headers, signal } = request
  const headerValues = (name: string): readonly string[] => request.headerValues?.(name) ?? []
  const handshake = answerHandshake({ method, headers, headerValues }, streamProtocols)
  if (handshake.type === 'refused') {
    const { status, message } = handshake
    throw status === 403 ? apiError('Forbidden', message) : badRequest(message)
  }
  const gone = new AbortController()
  const onGone = (): void => gone.abort(new Error('client disconnected'))
  signal.addEventListener('abort', onGone, { once: true })
  return {
    signal: gone.signal,
    respond: ({ body: pieces }) => {
      // The upgrade ends the request, but the upstream must keep streaming.
      signal.removeEventListener('abort', onGone)
      return {
        status: 101,
        headers: handshake.headers,
        body: {
          type: 'upgrade',
          mediaType: '',
          serve: taken => {
            taken.signal.addEventListener('abort', onGone, { once: true })
            return sendStream({ ...taken, clock, protocol: handshake.protocol, pieces, onGone })
          },
          discard: onGone,
        },
      }
    },
  }
}
