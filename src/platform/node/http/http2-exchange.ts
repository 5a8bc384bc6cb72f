/** An HTTP/2 request: one stream. */
import { constants, type ServerHttp2Stream } from 'node:http2'
import type { HttpExchange, HttpHeaders } from '../../http.ts'
import { Exchange, ignoringErrors, type ExchangeOptions } from './exchange.ts'

export interface Http2ExchangeOptions extends ExchangeOptions<ServerHttp2Stream, ServerHttp2Stream> {
  /** Alternating names and values, as sent. */
  readonly rawHeaders: readonly string[]
}

export class Http2Exchange extends Exchange<ServerHttp2Stream, ServerHttp2Stream> implements HttpExchange {
  /** Alternating names and values. */
  readonly #rawHeaders: readonly string[]
  #isAborted = false

  constructor(options: Http2ExchangeOptions) {
    super(options)
    const { connection, headers, outgoing: stream, rawHeaders } = options
    headers['host'] ??= headers[':authority']
    this.#rawHeaders = rawHeaders
    // An error is followed by `close`; without a listener it would end the process.
    ignoringErrors(stream)
    stream.once('close', () => {
      this.close()
      if (stream.aborted && !this.#isAborted) connection.countReset()
    })
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

  get unsentBytes(): number {
    return this.outgoing.bufferSize
  }

  respond(status: number, headers: HttpHeaders): void {
    if (this.closed || this.outgoing.closed) return
    // Node sends alternating names and values with much less work than an object.
    const raw: (string | number)[] = [':status', status]
    for (const name in headers) {
      const value = headers[name]!
      if (typeof value === 'string') raw.push(name, value)
      else for (const each of value) raw.push(name, each)
    }
    this.outgoing.respond(raw as string[])
  }

  end(pieces: readonly Uint8Array[] = []): void {
    if (!this.outgoing.writableEnded) this.writeLast(pieces)
    // Tells a client that is still sending its body to stop.
    if (this.isBodyPending) this.outgoing.close(constants.NGHTTP2_NO_ERROR)
  }

  abort(): void {
    this.#isAborted = true
    this.outgoing.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  protected get hasBody(): boolean {
    return !this.incoming.endAfterHeaders
  }

  protected get isBodyWhole(): boolean {
    return !this.incoming.aborted
  }

  protected sendContinue(): void {
    this.outgoing.additionalHeaders({ ':status': 100 })
  }
}
