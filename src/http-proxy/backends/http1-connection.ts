/**
 * A connection to an endpoint that speaks HTTP/1.1. It carries one request at a time, and then waits in its
 * pool.
 */
import type { Duplex } from 'node:stream'
import { BodyReader } from '../message/body-reader.ts'
import { formatBodyLength, formatFields } from '../message/format-head.ts'
import { unknownLength, type BodyLength, type Fields } from '../message/head.ts'
import { parseResponseHead } from '../message/parse-head.ts'
import type {
  BackendEvents,
  BackendFailure,
  BackendRequest,
  BackendStream,
  DetachedConnection,
} from '../streams.ts'

export interface Http1ConnectionOptions {
  readonly socket: Duplex
  readonly headerBytesMax: number
  /** The connection can be used for another request. */
  readonly onIdle: (connection: Http1Connection) => void
  /** Once. */
  readonly onClose: (connection: Http1Connection) => void
}

export class Http1Connection implements BackendStream {
  readonly #options: Http1ConnectionOptions
  readonly #socket: Duplex
  #events: BackendEvents | undefined
  #method = ''
  /** Number of requests before this one. */
  #requests = 0
  #isUpgrade = false
  #requestLength: BodyLength = 0
  #unsentBytes = 0
  #isRequestDone = true
  #hasReceived = false
  /** The beginning of a head. */
  #partial: Buffer | undefined
  #body: BodyReader | undefined
  #isKeptAlive = false
  #interimResponses = 0
  #isDetached = false
  /** When it became idle. */
  idleSinceMs = 0

  constructor(options: Http1ConnectionOptions) {
    const { socket } = options
    this.#options = options
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#ended())
    socket.on('drain', () => this.#events?.onBackendDrain())
    socket.once('close', () => {
      this.#fail('interrupted')
      if (!this.#isDetached) options.onClose(this)
    })
  }

  send(request: BackendRequest, events: BackendEvents): void {
    const { method, target, authority, fields, bodyLength, upgrade, expects } = request
    this.#events = events
    this.#method = method
    this.#isUpgrade = upgrade !== undefined
    this.#requestLength = bodyLength
    this.#unsentBytes = Math.max(0, bodyLength)
    this.#isRequestDone = bodyLength === 0
    this.#hasReceived = false
    this.#interimResponses = 0
    this.#partial = undefined
    this.#body = undefined
    // The end of the previous response may have arrived when its client was slow.
    if (this.#socket.isPaused()) this.#socket.resume()
    const framing = bodyLength === 0 && !bodiedMethods.has(method) ? '' : formatBodyLength(bodyLength)
    const expectation = expects === undefined ? '' : `expect: ${expects}\r\n`
    const connection = upgrade === undefined ? '' : `connection: upgrade\r\nupgrade: ${upgrade}\r\n`
    const line = `${method} ${target} HTTP/1.1\r\nhost: ${authority}\r\n`
    this.#socket.write(`${line}${formatFields(fields)}${framing}${expectation}${connection}\r\n`, 'latin1')
  }

  write(bytes: Uint8Array): boolean {
    if (bytes.length === 0) return true
    if (this.#requestLength !== unknownLength) {
      this.#unsentBytes -= bytes.length
      // More than announced would be read as another request.
      if (this.#unsentBytes >= 0) return this.#socket.write(bytes)
      this.#socket.destroy()
      return true
    }
    const socket = this.#socket
    socket.cork()
    socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1')
    socket.write(bytes)
    const hasRoom = socket.write('\r\n', 'latin1')
    socket.uncork()
    return hasRoom
  }

  end(trailers: Fields): void {
    if (this.#isRequestDone) return
    if (this.#unsentBytes > 0) return void this.#socket.destroy()
    this.#isRequestDone = true
    if (this.#requestLength === unknownLength)
      this.#socket.write(`0\r\n${formatFields(trailers)}\r\n`, 'latin1')
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  abort(): void {
    this.#events = undefined
    this.#socket.destroy()
  }

  detach(): DetachedConnection {
    const head = this.#partial ?? new Uint8Array()
    this.#events = undefined
    this.#isDetached = true
    for (const event of ['data', 'end', 'drain', 'close']) this.#socket.removeAllListeners(event)
    this.#options.onClose(this)
    return { connection: this.#socket, head }
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(bytes: Buffer): void {
    // A response without a request.
    if (this.#events === undefined) return void this.#socket.destroy()
    this.#hasReceived = true
    const events = this.#events
    let rest: Buffer | undefined = bytes
    if (this.#body === undefined) {
      rest = this.#receiveHead(this.#partial === undefined ? bytes : Buffer.concat([this.#partial, bytes]))
      if (rest === undefined) return
    }
    this.#receiveBody(rest)
    events.onBackendIdle()
  }

  /** Returns the bytes of the body, or undefined while the head is incomplete or after it was the last. */
  #receiveHead(bytes: Buffer): Buffer | undefined {
    let rest = bytes
    for (;;) {
      const end = rest.indexOf(headEnd)
      if (end === -1 || end > this.#options.headerBytesMax) {
        this.#partial = rest
        if (rest.length > this.#options.headerBytesMax) this.#fail('invalid-response')
        return undefined
      }
      const head = parseResponseHead(rest.toString('latin1', 0, end + 2), this.#method)
      rest = rest.subarray(end + headEnd.length)
      if (head === undefined || (head.status === 101 && !this.#isUpgrade)) {
        this.#fail('invalid-response')
        return undefined
      }
      if (head.status === 101) {
        this.#partial = rest
        this.#socket.pause()
        this.#events?.onResponse(head)
        return undefined
      }
      if (head.status >= 200) {
        this.#partial = undefined
        this.#isKeptAlive = head.isKeptAlive
        this.#body = new BodyReader(head.bodyLength, piece => this.#events?.onResponseData(piece))
        this.#events?.onResponse(head)
        return rest
      }
      this.#interimResponses++
      if (this.#interimResponses > interimResponsesMax) {
        this.#fail('invalid-response')
        return undefined
      }
      this.#events?.onInformation(head.status, head.fields)
    }
  }

  #receiveBody(bytes: Buffer): void {
    const body = this.#body
    if (body === undefined || this.#events === undefined) return
    const used = body.read(bytes)
    if (body.isMalformed) return this.#fail('invalid-response')
    if (!body.isDone) return
    // Bytes after the response belong to no request.
    this.#finish(this.#isKeptAlive && used === bytes.length)
  }

  #finish(isReusable: boolean): void {
    const events = this.#events
    const trailers = this.#body?.trailers ?? []
    this.#body = undefined
    this.#events = undefined
    this.#requests++
    const isIdle = isReusable && this.#isRequestDone
    events?.onResponseEnd(trailers)
    if (isIdle) this.#options.onIdle(this)
    else this.#socket.destroy()
  }

  #ended(): void {
    if (this.#body?.endsWithConnection) this.#finish(false)
    else this.#socket.destroy()
  }

  #fail(reason: BackendFailure['reason']): void {
    const events = this.#events
    if (events === undefined) return
    this.#events = undefined
    this.#socket.destroy()
    const isStale = reason === 'interrupted' && this.#requests > 0 && !this.#hasReceived
    events.onBackendFailure({ reason, isStale, isRefused: false })
  }
}

const headEnd = Buffer.from('\r\n\r\n')

/** Of one request: they are passed on even to a client that does not read. */
const interimResponsesMax = 100

/** Requests of which servers expect a content-length, also without a body. */
const bodiedMethods: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])
