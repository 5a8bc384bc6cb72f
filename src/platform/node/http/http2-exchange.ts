/** An HTTP/2 request: one stream. */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { HttpBodyError, type HttpExchange, type HttpHeaders } from '../../http.ts'
import type { Connection, OpenExchange } from './connection.ts'
import { declaredBytes, readBody } from './read-body.ts'
import { streamBody } from './stream-body.ts'

export interface Http2ExchangeOptions {
  readonly connection: Connection
  readonly stream: ServerHttp2Stream
  readonly headers: IncomingHttpHeaders
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[]
}

export class Http2Exchange implements HttpExchange, OpenExchange {
  readonly connection: Connection
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly #stream: ServerHttp2Stream
  /** Alternating names and values. */
  readonly #rawHeaders: readonly string[]
  #onClose: (() => void)[] = []
  #isClosed = false
  #stallTimeoutMs: number | undefined
  #isCut = false
  /** True if the client is still sending a body that is not read. */
  #hasUnreadBody = false

  constructor({ connection, stream, headers, rawHeaders }: Http2ExchangeOptions) {
    this.connection = connection
    this.#stream = stream
    this.#rawHeaders = rawHeaders
    headers['host'] ??= headers[':authority']
    // `set-cookie`, the only header that Node does not join, occurs in responses only.
    this.headers = headers as Readonly<Record<string, string | undefined>>
    connection.opened(this)
    // An error is followed by `close`; without a listener it would end the process.
    stream.on('error', ignore)
    stream.once('close', () => this.#close())
  }

  headerValues(name: string): readonly string[] {
    const raw = this.#rawHeaders
    return raw.filter((_value, index) => index % 2 === 1 && raw[index - 1] === name)
  }

  get method(): string {
    return this.headers[':method'] ?? ''
  }

  get target(): string {
    return this.headers[':path'] ?? ''
  }

  get closed(): boolean {
    return this.#isClosed
  }

  get unsentBytes(): number {
    return this.#stream.bufferSize
  }

  get stallTimeoutMs(): number | undefined {
    return this.#stallTimeoutMs
  }

  allowStall(timeoutMs: number): void {
    this.#stallTimeoutMs = timeoutMs
  }

  onClose(callback: () => void): void {
    if (this.#isClosed) callback()
    else this.#onClose.push(callback)
  }

  async readBody(limitBytes: number): Promise<Uint8Array> {
    const stream = this.#stream
    if (stream.endAfterHeaders) return nothing
    if (this.#isClosed) throw new HttpBodyError('aborted')
    this.#hasUnreadBody = true
    if ((declaredBytes(this.headers) ?? 0) > limitBytes) throw new HttpBodyError('too-large')
    if (isExpectingContinue(this.headers)) stream.additionalHeaders({ ':status': 100 })
    try {
      const { bodyTimeoutMs: timeoutMs } = this.connection.limits
      const body = await readBody(stream, { limitBytes, timeoutMs, isWhole: () => !stream.aborted })
      this.#hasUnreadBody = false
      return body
    } catch (error) {
      if (error instanceof HttpBodyError && error.reason === 'too-slow') this.connection.count('slow-request')
      throw error
    }
  }

  async *body(): AsyncGenerator<Uint8Array, void, undefined> {
    const stream = this.#stream
    if (stream.endAfterHeaders) return
    if (this.#isClosed) throw new HttpBodyError('aborted')
    this.#hasUnreadBody = true
    if (isExpectingContinue(this.headers)) stream.additionalHeaders({ ':status': 100 })
    const { bodyTimeoutMs: timeoutMs } = this.connection.limits
    try {
      yield* streamBody(stream, { timeoutMs, isWhole: () => !stream.aborted })
      this.#hasUnreadBody = false
    } catch (error) {
      if (error instanceof HttpBodyError && error.reason === 'too-slow') this.connection.count('slow-request')
      throw error
    }
  }

  respond(status: number, headers: HttpHeaders): void {
    if (this.#isClosed || this.#stream.closed) return
    // Node sends alternating names and values with much less work than an object.
    const raw: (string | number)[] = [':status', status]
    for (const name in headers) {
      const value = headers[name]!
      if (typeof value === 'string') raw.push(name, value)
      else for (const each of value) raw.push(name, each)
    }
    this.#stream.respond(raw as string[])
  }

  write(pieces: readonly Uint8Array[]): boolean {
    const stream = this.#stream
    if (stream.writableEnded) return true
    if (pieces.length > 1) stream.cork()
    for (const piece of pieces) stream.write(piece)
    if (pieces.length > 1) stream.uncork()
    return stream.writableLength < unsentBytesMax
  }

  async drained(): Promise<void> {
    const stream = this.#stream
    if (this.#isClosed || !stream.writableNeedDrain) return
    const { promise, resolve } = Promise.withResolvers<void>()
    stream.once('drain', resolve).once('close', resolve)
    await promise
    stream.off('drain', resolve).off('close', resolve)
  }

  end(pieces: readonly Uint8Array[] = []): void {
    const stream = this.#stream
    if (stream.writableEnded) return this.#stopBody()
    if (pieces.length === 1) {
      stream.end(pieces[0])
    } else {
      this.write(pieces)
      stream.end()
    }
    this.#stopBody()
  }

  abort(): void {
    this.#isCut = true
    this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  /** After the response, tells the client to stop sending its body. */
  #stopBody(): void {
    if (this.#hasUnreadBody) this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #close(): void {
    this.#isClosed = true
    this.connection.closed(this)
    if (this.#stream.aborted && !this.#isCut) this.connection.countReset()
    for (const callback of this.#onClose) callback()
  }
}

/** Unsent bytes of a response at which `write` returns false. */
export const unsentBytesMax = 256 * 1024

export const nothing: Uint8Array = new Uint8Array()

export function isExpectingContinue(headers: IncomingHttpHeaders): boolean {
  return headers['expect'] === '100-continue'
}

function ignore(): void {}
