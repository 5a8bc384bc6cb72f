/** A connection of a client that speaks HTTP/2. Each stream is an exchange of its own. */
import type { Duplex } from 'node:stream'
import {
  http2Errors,
  type Http2ServerSession,
  type Http2Stream,
  type StreamProtocols,
} from '#/platform/stream-protocols.ts'
import { Exchange } from '../exchange.ts'
import type { ExchangeContext } from '../exchange-context.ts'
import { fieldValue, type Fields } from '../message/head.ts'
import { requestHeadOf, trailersOf } from '../message/http2-fields.ts'
import type { ClientResponse, ClientStream } from '../streams.ts'
import type { ClientConnection } from './client-connection.ts'

export interface Http2ClientOptions {
  readonly socket: Duplex
  readonly context: ExchangeContext
  readonly protocols: StreamProtocols
  readonly onClose: () => void
}

export class Http2Client implements ClientConnection {
  readonly #context: ExchangeContext
  readonly #session: Http2ServerSession
  readonly #streams = new Set<Http2ClientStream>()
  #requests = 0
  #idleSinceMs: number

  constructor({ socket, context, protocols, onClose }: Http2ClientOptions) {
    const { limits, clock } = context.core
    this.#context = context
    this.#idleSinceMs = clock.monotonicMs()
    this.#session = protocols.serveHttp2(socket, {
      ...limits,
      onStream: (stream, fields, isEnded) => this.#onStream(stream, fields, isEnded),
      onClose: () => {
        socket.destroy()
        onClose()
      },
    })
  }

  drain(): void {
    this.#session.close()
  }

  destroy(): void {
    this.#session.destroy()
  }

  sweep(nowMs: number): void {
    const { limits } = this.#context.core
    for (const stream of this.#streams) stream.sweep(nowMs)
    const timeoutMs = this.#requests === 0 ? limits.headerTimeoutMs : limits.idleTimeoutMs
    if (this.#streams.size === 0 && nowMs - this.#idleSinceMs > timeoutMs) this.#session.destroy()
  }

  #onStream(stream: Http2Stream, fields: readonly string[], isEnded: boolean): void {
    const { core } = this.#context
    this.#requests++
    if (this.#requests === core.limits.requestsPerConnectionMax) this.#session.close()
    const head = requestHeadOf(fields, isEnded)
    if (head === undefined) {
      core.rejected('malformed')
      core.metrics.finished({ route: '', method: '', status: 400, seconds: 0 })
      stream.listen(ignoredEvents)
      stream.respond([':status', '400'], true)
      return
    }
    const client = new Http2ClientStream(stream, this.#context, ended => {
      this.#streams.delete(ended)
      this.#idleSinceMs = core.clock.monotonicMs()
    })
    this.#streams.add(client)
    client.start(new Exchange(this.#context, client, head), isEnded)
  }
}

const ignoredEvents = {
  onData: (): void => undefined,
  onEnd: (): void => undefined,
  onDrain: (): void => undefined,
  onClose: (): void => undefined,
}

class Http2ClientStream implements ClientStream {
  readonly #stream: Http2Stream
  readonly #context: ExchangeContext
  readonly #onEnd: (stream: Http2ClientStream) => void
  #exchange: Exchange | undefined
  #isBodyEnded = false
  #hasResponded = false
  #isBlocked = false
  #hasNoBody = false
  #isClosed = false
  #movedMs = 0

  constructor(stream: Http2Stream, context: ExchangeContext, onEnd: (stream: Http2ClientStream) => void) {
    this.#stream = stream
    this.#context = context
    this.#onEnd = onEnd
  }

  start(exchange: Exchange, isEnded: boolean): void {
    const { clock } = this.#context.core
    this.#exchange = exchange
    this.#isBodyEnded = isEnded
    this.#movedMs = clock.monotonicMs()
    this.#stream.listen({
      onData: bytes => {
        this.#movedMs = clock.monotonicMs()
        exchange.onRequestData(bytes)
      },
      onEnd: trailers => {
        this.#isBodyEnded = true
        exchange.onRequestEnd(trailersOf(trailers))
      },
      onDrain: () => {
        this.#isBlocked = false
        this.#movedMs = clock.monotonicMs()
        exchange.onClientDrain()
      },
      onClose: () => {
        this.#isClosed = true
        exchange.onClientClose()
        this.#onEnd(this)
      },
    })
    // Until a backend takes the body; without one the end has to be seen.
    if (!isEnded) this.#stream.pause()
    exchange.start()
  }

  sweep(nowMs: number): void {
    this.#exchange?.sweep(nowMs)
    const { limits, rejected } = this.#context.core
    const isStalled = this.#isBlocked || (!this.#isBodyEnded && !this.#hasResponded)
    if (!isStalled || nowMs - this.#movedMs <= limits.stallTimeoutMs) return
    rejected('slow-reader')
    this.#stream.reset(http2Errors.cancel)
  }

  readBody(): void {
    this.#stream.resume()
  }

  pauseBody(): void {
    this.#stream.pause()
  }

  resumeBody(): void {
    this.#stream.resume()
  }

  inform(status: number, fields: Fields): void {
    if (!this.#isClosed) this.#stream.inform([':status', String(status), ...fields])
  }

  respond({ status, fields, bodyLength, declaredLength }: ClientResponse): void {
    if (this.#isClosed) return
    this.#hasResponded = true
    const head = [':status', String(status), ...fields]
    if (fieldValue(fields, 'date') === undefined) head.push('date', this.#context.core.httpDate())
    if (fieldValue(fields, 'server') === undefined) head.push('server', 'k8ts')
    this.#hasNoBody = bodyLength === 0
    const length = declaredLength ?? (bodyLength > 0 ? bodyLength : undefined)
    if (length !== undefined && status !== 204) head.push('content-length', String(length))
    this.#stream.respond(head, false)
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isClosed || this.#hasNoBody) return true
    const hasRoom = this.#stream.write(bytes)
    if (!hasRoom && !this.#isBlocked) {
      this.#isBlocked = true
      this.#movedMs = this.#context.core.clock.monotonicMs()
    }
    return hasRoom
  }

  end(trailers: Fields): void {
    this.#stream.end(trailers)
    if (this.#isBodyEnded) return
    // Tells a client that is still sending its body to stop (RFC 9113, section 8.1).
    this.#stream.resume()
    this.#stream.reset(http2Errors.none)
  }

  flush(): void {
    // Nothing is held back.
  }

  abort(): void {
    this.#stream.reset(http2Errors.internal)
  }

  detach(): undefined {
    return undefined
  }
}
