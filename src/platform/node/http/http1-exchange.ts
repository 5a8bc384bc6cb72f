/** An HTTP/1.1 request, one of several in sequence on a connection. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpExchange, HttpHeaders, HijackedConnection } from '../../http.ts'
import { Exchange, ignoringErrors, type ExchangeOptions } from './exchange.ts'
import { declaredBytes } from './read-body.ts'

export interface Http1ExchangeOptions extends ExchangeOptions<IncomingMessage, ServerResponse> {
  /** Present for an upgrade request. */
  readonly upgrade?: HijackedConnection
}

export class Http1Exchange extends Exchange<IncomingMessage, ServerResponse> implements HttpExchange {
  readonly hijack?: () => HijackedConnection
  readonly #upgrade: HijackedConnection | undefined

  constructor(options: Http1ExchangeOptions) {
    super(options)
    const { incoming, outgoing, upgrade } = options
    this.#upgrade = upgrade
    ignoringErrors(incoming)
    ignoringErrors(outgoing)
    outgoing.once('close', () => this.close())
    if (upgrade !== undefined) this.hijack = () => this.#hijack(upgrade)
  }

  headerValues(name: string): readonly string[] {
    return this.incoming.headersDistinct[name] ?? []
  }

  get method(): string {
    return this.incoming.method ?? ''
  }

  get target(): string {
    return this.incoming.url ?? ''
  }

  get unsentBytes(): number {
    return this.outgoing.writableLength
  }

  respond(status: number, headers: HttpHeaders): void {
    const response = this.outgoing
    if (this.closed || response.headersSent) return
    const isLast = this.connection.isClosing || this.#hasUnreadBody || this.#upgrade !== undefined
    const all = isLast ? { ...headers, connection: 'close' } : headers
    response.writeHead(status, all as ResponseHeaders)
    // A watch may have no events for long, but the client must see that it has started.
    response.flushHeaders()
  }

  /** Node does not forward the event of the socket after an upgrade. */
  override drained(): Promise<void> {
    return this.waitForDrain(this.#upgrade?.connection)
  }

  end(pieces: readonly Uint8Array[] = []): void {
    if (this.closed || this.outgoing.writableEnded) return
    if (this.#hasUnreadBody) {
      this.write(pieces)
      this.#linger()
    } else {
      this.writeLast(pieces)
    }
  }

  abort(): void {
    this.incoming.socket.destroy()
  }

  protected get hasBody(): boolean {
    const { headers } = this.incoming
    return headers['transfer-encoding'] !== undefined || (declaredBytes(headers) ?? 0) > 0
  }

  protected get isBodyWhole(): boolean {
    return this.incoming.complete
  }

  protected sendContinue(): void {
    this.outgoing.writeContinue()
  }

  get #hasUnreadBody(): boolean {
    return this.hasBody && !this.incoming.complete
  }

  /**
   * Closing a socket with unread incoming bytes sends a reset, which discards the response if the client has
   * not read it yet. So incoming bytes are drained for a while.
   */
  #linger(): void {
    const end = (): void => {
      clearTimeout(timeout)
      this.incoming.off('end', end).off('close', end)
      if (!this.outgoing.writableEnded) this.outgoing.end()
    }
    const timeout = setTimeout(end, lingerMs)
    this.incoming.once('end', end).once('close', end)
    this.incoming.resume()
  }

  #hijack(upgrade: HijackedConnection): HijackedConnection {
    this.connection.taken()
    this.outgoing.detachSocket(this.incoming.socket)
    this.close()
    return upgrade
  }
}

type ResponseHeaders = NonNullable<Parameters<ServerResponse['writeHead']>[1]>

/** Time for a client that is still sending to read its response. */
const lingerMs = 500
