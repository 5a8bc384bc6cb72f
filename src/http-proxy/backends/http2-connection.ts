/** A connection to an endpoint that speaks HTTP/2, with many requests at once. */
import type { Duplex } from 'node:stream'
import type { Http2ClientSession, Http2Stream, StreamProtocols } from '#/platform/stream-protocols.ts'
import { http2Errors } from '#/platform/stream-protocols.ts'
import type { Fields } from '../message/head.ts'
import { http2RequestFields, responseHeadOf, trailersOf } from '../message/http2-fields.ts'
import type { BackendEvents, BackendFailure, BackendRequest, BackendStream } from '../streams.ts'

/** The request has a field that HTTP/2 does not allow. */
export class UnsendableRequestError extends Error {}

export interface Http2ConnectionOptions {
  readonly socket: Duplex
  readonly protocols: StreamProtocols
  /** A request has ended. */
  readonly onIdle: (connection: Http2Connection) => void
  /** Once. */
  readonly onClose: (connection: Http2Connection) => void
}

export class Http2Connection {
  readonly #options: Http2ConnectionOptions
  readonly #session: Http2ClientSession
  readonly #socket: Duplex
  #streams = 0
  #isClosing = false
  idleSinceMs = 0

  constructor(options: Http2ConnectionOptions) {
    const { socket, protocols } = options
    this.#options = options
    this.#socket = socket
    this.#session = protocols.connectHttp2(socket, { onClose: () => options.onClose(this) })
  }

  get streams(): number {
    return this.#streams
  }

  get hasRoom(): boolean {
    return !this.#isClosing && !this.#session.isClosed && this.#streams < this.#session.streamsMax
  }

  /** Undefined when the session has just been closed. */
  send(request: BackendRequest, events: BackendEvents): BackendStream | undefined {
    const { fields, bodyLength, expects } = request
    const head = http2RequestFields({ ...request }, fields)
    if (expects !== undefined) head.push('expect', expects)
    let stream: Http2Stream
    try {
      stream = this.#session.request(head, bodyLength === 0)
    } catch (error) {
      if (this.#session.isClosed) return undefined
      throw new UnsendableRequestError('the request cannot be sent over HTTP/2', { cause: error })
    }
    this.#streams++
    const onEnd = (): void => {
      this.#streams--
      if (this.#streams === 0) this.#options.onIdle(this)
    }
    return new Http2BackendStream(stream, { method: request.method, events, onEnd })
  }

  /** After the open requests. */
  close(): void {
    this.#isClosing = true
    if (this.#session.isClosed) this.#socket.destroy()
    else this.#session.close()
  }
}

interface Http2BackendStreamOptions {
  readonly method: string
  readonly events: BackendEvents
  readonly onEnd: () => void
}

class Http2BackendStream implements BackendStream {
  readonly #stream: Http2Stream
  #events: BackendEvents | undefined
  #hasResponded = false

  constructor(stream: Http2Stream, { method, events, onEnd }: Http2BackendStreamOptions) {
    this.#stream = stream
    this.#events = events
    stream.listen({
      onHead: fields => this.#receiveHead(fields, method),
      onData: bytes => {
        this.#events?.onResponseData(bytes)
        this.#events?.onBackendIdle()
      },
      onEnd: trailers => {
        const ended = this.#hasResponded ? this.#events : undefined
        if (ended === undefined) return
        this.#events = undefined
        ended.onResponseEnd(trailersOf(trailers))
      },
      onDrain: () => this.#events?.onBackendDrain(),
      onClose: ({ isRefused }) => {
        this.#fail('interrupted', isRefused)
        onEnd()
      },
    })
  }

  write(bytes: Uint8Array): boolean {
    return this.#stream.write(bytes)
  }

  end(trailers: Fields): void {
    this.#stream.end(trailers)
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  abort(): void {
    this.#events = undefined
    this.#stream.reset(http2Errors.cancel)
  }

  detach(): undefined {
    return undefined
  }

  #receiveHead(fields: readonly string[], method: string): void {
    const head = responseHeadOf(fields, method)
    if (head === undefined) return this.#fail('invalid-response', false)
    if (head.status < 200) return this.#events?.onInformation(head.status, head.fields)
    this.#hasResponded = true
    this.#events?.onResponse(head)
  }

  #fail(reason: BackendFailure['reason'], isRefused: boolean): void {
    const events = this.#events
    if (events === undefined) return
    this.#events = undefined
    this.#stream.reset(http2Errors.cancel)
    events.onBackendFailure({ reason, isStale: false, isRefused: isRefused && !this.#hasResponded })
  }
}
