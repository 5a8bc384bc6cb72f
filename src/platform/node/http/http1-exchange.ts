/** An HTTP/1.1 request, one of several in sequence on a connection. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { HttpBodyError, type HttpExchange, type HttpHeaders, type HijackedConnection } from '../../http.ts'
import type { Connection, OpenExchange } from './connection.ts'
import { isExpectingContinue, nothing, unsentBytesMax } from './http2-exchange.ts'
import { declaredBytes, readBody } from './read-body.ts'
import { streamBody } from './stream-body.ts'

export interface Http1ExchangeOptions {
  readonly connection: Connection
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Present for an upgrade request. */
  readonly upgrade?: HijackedConnection
}

export class Http1Exchange implements HttpExchange, OpenExchange {
  readonly connection: Connection
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly hijack?: () => HijackedConnection
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #upgrade: HijackedConnection | undefined
  #onClose: (() => void)[] = []
  #isClosed = false
  #stallTimeoutMs: number | undefined

  constructor({ connection, request, response, upgrade }: Http1ExchangeOptions) {
    this.connection = connection
    this.#request = request
    this.#response = response
    this.#upgrade = upgrade
    // `set-cookie`, the only header that Node does not join, occurs in responses only.
    this.headers = request.headers as Readonly<Record<string, string | undefined>>
    connection.opened(this)
    request.on('error', ignore)
    response.on('error', ignore)
    response.once('close', () => this.#close())
    if (upgrade !== undefined) this.hijack = () => this.#hijack(upgrade)
  }

  headerValues(name: string): readonly string[] {
    return this.#request.headersDistinct[name] ?? []
  }

  get method(): string {
    return this.#request.method ?? ''
  }

  get target(): string {
    return this.#request.url ?? ''
  }

  get closed(): boolean {
    return this.#isClosed
  }

  get unsentBytes(): number {
    return this.#response.writableLength
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
    const request = this.#request
    if (!hasBody(request)) return nothing
    if (this.#isClosed) throw new HttpBodyError('aborted')
    if ((declaredBytes(request.headers) ?? 0) > limitBytes) throw new HttpBodyError('too-large')
    if (isExpectingContinue(request.headers)) this.#response.writeContinue()
    try {
      const { bodyTimeoutMs: timeoutMs } = this.connection.limits
      return await readBody(request, { limitBytes, timeoutMs, isWhole: () => request.complete })
    } catch (error) {
      if (error instanceof HttpBodyError && error.reason === 'too-slow') this.connection.count('slow-request')
      throw error
    }
  }

  async *body(): AsyncGenerator<Uint8Array, void, undefined> {
    const request = this.#request
    if (!hasBody(request)) return
    if (this.#isClosed) throw new HttpBodyError('aborted')
    if (isExpectingContinue(request.headers)) this.#response.writeContinue()
    const { bodyTimeoutMs: timeoutMs } = this.connection.limits
    try {
      yield* streamBody(request, { timeoutMs, isWhole: () => request.complete })
    } catch (error) {
      if (error instanceof HttpBodyError && error.reason === 'too-slow') this.connection.count('slow-request')
      throw error
    }
  }

  respond(status: number, headers: HttpHeaders): void {
    if (this.#isClosed || this.#response.headersSent) return
    const isLast = this.connection.isClosing || this.#hasUnreadBody || this.#upgrade !== undefined
    const all = isLast ? { ...headers, connection: 'close' } : headers
    this.#response.writeHead(status, all as ResponseHeaders)
    // A watch may have no events for long, but the client must see that it has started.
    this.#response.flushHeaders()
  }

  write(pieces: readonly Uint8Array[]): boolean {
    const response = this.#response
    if (this.#isClosed || response.writableEnded) return true
    if (pieces.length > 1) response.cork()
    for (const piece of pieces) response.write(piece)
    if (pieces.length > 1) response.uncork()
    return response.writableLength < unsentBytesMax
  }

  async drained(): Promise<void> {
    const response = this.#response
    if (this.#isClosed || !response.writableNeedDrain) return
    const { promise, resolve } = Promise.withResolvers<void>()
    response.once('drain', resolve).once('close', resolve)
    // Node does not forward this event after an upgrade.
    this.#upgrade?.connection.once('drain', resolve)
    await promise
    response.off('drain', resolve).off('close', resolve)
    this.#upgrade?.connection.off('drain', resolve)
  }

  end(pieces: readonly Uint8Array[] = []): void {
    const response = this.#response
    if (this.#isClosed || response.writableEnded) return
    if (this.#hasUnreadBody) {
      this.write(pieces)
      this.#linger()
    } else if (pieces.length === 1) {
      response.end(pieces[0])
    } else {
      this.write(pieces)
      response.end()
    }
  }

  abort(): void {
    this.#request.socket.destroy()
  }

  get #hasUnreadBody(): boolean {
    return hasBody(this.#request) && !this.#request.complete
  }

  /**
   * Closing a socket with unread incoming bytes sends a reset, which discards the response if the client has
   * not read it yet. So incoming bytes are drained for a while.
   */
  #linger(): void {
    const end = (): void => {
      clearTimeout(timeout)
      this.#request.off('end', end).off('close', end)
      if (!this.#response.writableEnded) this.#response.end()
    }
    const timeout = setTimeout(end, lingerMs)
    this.#request.once('end', end).once('close', end)
    this.#request.resume()
  }

  #hijack(upgrade: HijackedConnection): HijackedConnection {
    this.connection.taken()
    this.#response.detachSocket(this.#request.socket)
    this.#close()
    return upgrade
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.connection.closed(this)
    for (const callback of this.#onClose) callback()
  }
}

type ResponseHeaders = NonNullable<Parameters<ServerResponse['writeHead']>[1]>

/** Time for a client that is still sending to read its response. */
const lingerMs = 500

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (declaredBytes(headers) ?? 0) > 0
}

/** Avoids an uncaught error when a client disconnects. */
export function ignoringErrors<T extends Duplex>(socket: T): T {
  return socket.on('error', ignore)
}

function ignore(): void {}
