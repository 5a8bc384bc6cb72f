/**
 * A connection of a client that speaks HTTP/1.x. Requests are processed one after the other; what a client
 * pipelines waits in a bounded buffer. After a request that cannot be understood the connection is closed,
 * since the bytes after it could be anything.
 */
import type { Duplex } from 'node:stream'
import { Exchange } from '../exchange.ts'
import type { ExchangeContext } from '../exchange-context.ts'
import { BodyReader } from '../message/body-reader.ts'
import { formatBodyLength, formatFields, formatStatusLine, reasonPhrase } from '../message/format-head.ts'
import { fieldValue, unknownLength, untilClose, type Fields, type RequestHead } from '../message/head.ts'
import { parseRequestHead } from '../message/parse-head.ts'
import type { ClientResponse, ClientStream, DetachedConnection } from '../streams.ts'
import type { ClientConnection } from './client-connection.ts'

export interface Http1ClientOptions {
  readonly socket: Duplex
  readonly context: ExchangeContext
  /** Bytes that have been read from the socket already. */
  readonly head?: Uint8Array
  readonly onClose: () => void
}

export class Http1Client implements ClientStream, ClientConnection {
  readonly #socket: Duplex
  readonly #context: ExchangeContext
  #exchange: Exchange | undefined
  #request: RequestHead | undefined
  #body: BodyReader | undefined
  #isBodyRead = false
  /** The backend takes no more. */
  #isBodyPaused = false
  /** Received and not processed yet. */
  #buffer: Buffer | undefined
  /** No part of the next head has arrived. */
  #isNewHead = true
  /** The head of a response, which is sent with what follows. */
  #heldHead = ''
  #isChunked = false
  #hasNoBody = false
  #isKeptAlive = true
  #requests = 0
  #isDraining = false
  #hasEnded = false
  #isProcessing = false
  /** No request follows: what still arrives is dropped, so that the client can read the response. */
  #isLingering = false
  #isDetached = false
  /** Start of the current state: idle, receiving a head or a body, sending, or lingering. */
  #sinceMs: number

  constructor({ socket, context, head, onClose }: Http1ClientOptions) {
    this.#socket = socket
    this.#context = context
    this.#sinceMs = context.core.clock.monotonicMs()
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#ended())
    socket.on('drain', () => {
      this.#sinceMs = context.core.clock.monotonicMs()
      this.#exchange?.onClientDrain()
    })
    socket.once('close', () => {
      this.#exchange?.onClientClose()
      onClose()
    })
    if (head !== undefined && head.length > 0) this.#receive(Buffer.from(head))
  }

  /** Closes the connection after the current request. */
  drain(): void {
    this.#isDraining = true
    if (this.#exchange === undefined && !this.#isLingering) this.#socket.end(() => this.#socket.destroy())
  }

  destroy(): void {
    this.#socket.destroy()
  }

  sweep(nowMs: number): void {
    if (this.#isDetached) return
    const { limits, rejected } = this.#context.core
    const forMs = nowMs - this.#sinceMs
    if (this.#isLingering) {
      if (forMs > (this.#socket.writableLength > 0 ? limits.stallTimeoutMs : lingerMs)) this.#socket.destroy()
    } else if (this.#exchange !== undefined) {
      this.#exchange.sweep(nowMs)
      const isWaitingForBody = this.#isBodyRead && this.#body?.isDone === false && !this.#socket.isPaused()
      const isStalled = this.#socket.writableLength > 0 || isWaitingForBody
      if (!isStalled || forMs <= limits.stallTimeoutMs) return
      rejected('slow-reader')
      this.#socket.destroy()
    } else if (this.#buffer !== undefined) {
      if (forMs > limits.headerTimeoutMs) this.#refuse(408, 'slow-request')
    } else if (forMs > (this.#requests === 0 ? limits.headerTimeoutMs : limits.idleTimeoutMs)) {
      this.#socket.destroy()
    }
  }

  readBody(): void {
    this.#isBodyRead = true
    this.#sinceMs = this.#context.core.clock.monotonicMs()
    this.#process()
    if (!this.#isBodyPaused && this.#socket.isPaused()) this.#socket.resume()
  }

  pauseBody(): void {
    this.#isBodyPaused = true
    this.#socket.pause()
  }

  resumeBody(): void {
    this.#isBodyPaused = false
    this.#sinceMs = this.#context.core.clock.monotonicMs()
    this.#socket.resume()
  }

  inform(status: number, fields: Fields): void {
    if (this.#request?.isHttp10 || this.#socket.destroyed) return
    this.#socket.write(`${formatStatusLine(status)}${formatFields(fields)}\r\n`, 'latin1')
  }

  respond({ status, fields, bodyLength, declaredLength, upgrade }: ClientResponse): void {
    const request = this.#request!
    const isRequestRead = request.bodyLength === 0 || this.#body?.isDone === true
    const isWithoutBody = request.method === 'HEAD' || status === 204 || status === 304 || status === 101
    const isUnknown = !isWithoutBody && bodyLength < 0
    this.#isChunked = isUnknown && !request.isHttp10
    this.#hasNoBody = isWithoutBody
    this.#requests++
    const isLast = this.#isDraining || this.#requests >= this.#context.core.limits.requestsPerConnectionMax
    this.#isKeptAlive = request.isKeptAlive && isRequestRead && !isLast && !(isUnknown && request.isHttp10)
    let head = formatStatusLine(status) + formatFields(fields)
    if (fieldValue(fields, 'date') === undefined) head += `date: ${this.#context.core.httpDate()}\r\n`
    if (fieldValue(fields, 'server') === undefined) head += serverField
    if (upgrade !== undefined) head += `connection: upgrade\r\nupgrade: ${upgrade}\r\n`
    else if (!this.#isKeptAlive) head += 'connection: close\r\n'
    else if (request.isHttp10) head += 'connection: keep-alive\r\n'
    if (!isWithoutBody)
      head += formatBodyLength(isUnknown && request.isHttp10 ? untilClose : this.#framed(bodyLength))
    else if (declaredLength !== undefined) head += formatBodyLength(declaredLength)
    this.#heldHead = `${head}\r\n`
    this.#sinceMs = this.#context.core.clock.monotonicMs()
    if (upgrade !== undefined) this.flush()
  }

  write(bytes: Uint8Array): boolean {
    if (this.#hasNoBody || bytes.length === 0) return true
    const head = this.#heldHead
    this.#heldHead = ''
    const socket = this.#socket
    if (!this.#isChunked && head === '') return socket.write(bytes)
    const start = this.#isChunked ? `${head}${bytes.length.toString(16)}\r\n` : head
    if (bytes.length <= joinedBytesMax) return socket.write(join(start, bytes, this.#isChunked))
    socket.cork()
    socket.write(start, 'latin1')
    const hasRoom = socket.write(bytes)
    if (this.#isChunked) socket.write('\r\n', 'latin1')
    socket.uncork()
    return hasRoom
  }

  end(trailers: Fields): void {
    if (this.#isChunked) {
      const last = `${this.#heldHead}0\r\n${formatFields(trailers)}\r\n`
      this.#heldHead = ''
      this.#socket.write(last, 'latin1')
    } else this.flush()
    this.#next()
  }

  flush(): void {
    if (this.#heldHead === '') return
    const head = this.#heldHead
    this.#heldHead = ''
    this.#socket.write(head, 'latin1')
  }

  abort(): void {
    this.#socket.destroy()
  }

  detach(): DetachedConnection | undefined {
    if (this.#socket.destroyed) return undefined
    const head = this.#buffer ?? new Uint8Array()
    this.#isDetached = true
    this.#exchange = undefined
    this.#buffer = undefined
    this.#socket.pause()
    for (const event of ['data', 'end', 'drain']) this.#socket.removeAllListeners(event)
    return { connection: this.#socket, head }
  }

  #framed(bodyLength: number): number {
    return bodyLength < 0 ? unknownLength : bodyLength
  }

  #receive(bytes: Buffer): void {
    if (this.#isLingering) return
    this.#buffer = this.#buffer === undefined ? bytes : Buffer.concat([this.#buffer, bytes])
    this.#process()
    // Pipelined requests, and a body that no backend takes yet.
    if (this.#buffer !== undefined && this.#exchange !== undefined)
      if (this.#buffer.length > this.#context.core.limits.headerBytesMax) this.#socket.pause()
  }

  /** Processes what has been received as far as possible. */
  #process(): void {
    if (this.#isProcessing) return
    this.#isProcessing = true
    while (this.#buffer !== undefined && !this.#isLingering && !this.#isDetached) {
      if (this.#exchange === undefined) {
        if (!this.#receiveHead(this.#buffer)) break
      } else if (this.#isBodyRead && this.#body?.isDone === false) this.#receiveBody(this.#buffer)
      else break
    }
    this.#isProcessing = false
  }

  /** Returns false while the head is incomplete. */
  #receiveHead(received: Buffer): boolean {
    const { core } = this.#context
    let bytes = received
    // Empty lines before a request are ignored (RFC 9112, section 2.2).
    while (bytes[0] === 0x0d && bytes[1] === 0x0a) bytes = bytes.subarray(2)
    const end = bytes.indexOf(headEnd)
    if (end === -1 || end > core.limits.headerBytesMax) {
      this.#buffer = bytes.length === 0 ? undefined : bytes
      if (this.#isNewHead && bytes.length > 0) {
        this.#isNewHead = false
        this.#sinceMs = core.clock.monotonicMs()
      }
      if (bytes.length > core.limits.headerBytesMax) this.#refuse(431, 'headers')
      else if (hasBareLineFeed(bytes)) this.#refuse(400, 'malformed')
      return false
    }
    this.#isNewHead = true
    const head = parseRequestHead(bytes.toString('latin1', 0, end + 2))
    const rest = end + headEnd.length
    this.#buffer = rest === bytes.length ? undefined : bytes.subarray(rest)
    if ('refusal' in head) {
      this.#refuse(head.refusal, 'malformed')
      return false
    }
    this.#request = head
    const exchange = new Exchange(this.#context, this, head)
    this.#exchange = exchange
    this.#isBodyRead = false
    this.#isBodyPaused = false
    this.#body =
      head.bodyLength === 0
        ? undefined
        : new BodyReader(head.bodyLength, piece => exchange.onRequestData(piece))
    exchange.start()
    return true
  }

  #receiveBody(bytes: Buffer): void {
    const body = this.#body!
    const exchange = this.#exchange!
    this.#buffer = undefined
    this.#sinceMs = this.#context.core.clock.monotonicMs()
    const used = body.read(bytes)
    if (used < bytes.length && !this.#isLingering) this.#buffer = bytes.subarray(used)
    if (body.isMalformed) {
      this.#context.core.rejected('malformed')
      exchange.onMalformedBody()
    } else if (body.isDone) exchange.onRequestEnd(body.trailers)
  }

  /** The response is complete. */
  #next(): void {
    this.#exchange = undefined
    this.#request = undefined
    this.#sinceMs = this.#context.core.clock.monotonicMs()
    if (!this.#isKeptAlive || this.#body?.isDone === false) return this.#linger()
    this.#body = undefined
    if (this.#socket.isPaused()) this.#socket.resume()
    this.#process()
  }

  /**
   * Closing at once would reset the connection while the client still sends, and it might not see the
   * response.
   */
  #linger(hasUnread = this.#body?.isDone === false): void {
    if (this.#isLingering) return
    this.#isLingering = true
    this.#buffer = undefined
    this.#socket.resume()
    this.#socket.end(() => {
      if (!hasUnread || this.#hasEnded) this.#socket.destroy()
    })
  }

  #refuse(status: number, reason: 'malformed' | 'headers' | 'slow-request'): void {
    const { core } = this.#context
    core.rejected(reason)
    const text = `${status} ${reasonPhrase(status)}\n`
    const head = `${formatStatusLine(status)}date: ${core.httpDate()}\r\n${serverField}connection: close\r\n`
    const body = `content-type: text/plain; charset=utf-8\r\n${formatBodyLength(text.length)}\r\n${text}`
    this.#socket.write(head + body, 'latin1')
    core.metrics.finished({ route: '', method: '', status, seconds: 0 })
    this.#linger(true)
  }

  /** As for nginx, a client that closes its side during a request does not wait for the response. */
  #ended(): void {
    this.#hasEnded = true
    if (this.#exchange === undefined) this.#socket.end(() => this.#socket.destroy())
    else this.#socket.destroy()
  }
}

const headEnd = Buffer.from('\r\n\r\n')
const serverField = 'server: k8ts\r\n'

/** How long what a client still sends is read after the last response. */
const lingerMs = 2_000

/** Smaller pieces are copied together with the head, which is cheaper than another write. */
const joinedBytesMax = 8 * 1024

function join(start: string, bytes: Uint8Array, isChunk: boolean): Buffer {
  const joined = Buffer.allocUnsafe(start.length + bytes.length + (isChunk ? 2 : 0))
  joined.write(start, 0, 'latin1')
  joined.set(bytes, start.length)
  if (isChunk) joined.write('\r\n', start.length + bytes.length, 'latin1')
  return joined
}

/** Such a head would never end. */
function hasBareLineFeed(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1))
    if (at === 0 || bytes[at - 1] !== 0x0d) return true
  return false
}
