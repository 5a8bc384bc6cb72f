/** A request on a connection: the parts that HTTP/1.1 and HTTP/2 share. */
import type { IncomingHttpHeaders } from 'node:http2'
import type { Duplex, Readable, Writable } from 'node:stream'
import { HttpBodyError } from '../../http.ts'
import type { Connection, OpenExchange } from './connection.ts'
import { declaredBytes, readBody } from './read-body.ts'
import { streamBody } from './stream-body.ts'

export interface ExchangeOptions<Incoming, Outgoing> {
  readonly connection: Connection
  readonly headers: IncomingHttpHeaders
  readonly incoming: Incoming
  readonly outgoing: Outgoing
}

export abstract class Exchange<Incoming extends Readable, Outgoing extends Writable> implements OpenExchange {
  readonly connection: Connection
  readonly headers: Readonly<Record<string, string | undefined>>
  protected readonly incoming: Incoming
  protected readonly outgoing: Outgoing
  /** True if reading the body has begun and it is not completely read. */
  protected isBodyPending = false
  #onClose: (() => void)[] = []
  #isClosed = false
  #stallTimeoutMs: number | undefined

  constructor({ connection, headers, incoming, outgoing }: ExchangeOptions<Incoming, Outgoing>) {
    this.connection = connection
    // `set-cookie`, the only header that Node does not join, occurs in responses only.
    this.headers = headers as Readonly<Record<string, string | undefined>>
    this.incoming = incoming
    this.outgoing = outgoing
    connection.opened(this)
  }

  abstract readonly unsentBytes: number
  abstract abort(): void
  protected abstract readonly hasBody: boolean
  /** False if the client disconnected before the end of the body. */
  protected abstract readonly isBodyWhole: boolean
  protected abstract sendContinue(): void

  get closed(): boolean {
    return this.#isClosed
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
    if (!this.hasBody) return nothing
    this.#beginBody(limitBytes)
    try {
      const { bodyTimeoutMs: timeoutMs } = this.connection.limits
      const body = await readBody(this.incoming, { limitBytes, timeoutMs, isWhole: () => this.isBodyWhole })
      this.isBodyPending = false
      return body
    } catch (error) {
      throw this.#countIfSlow(error)
    }
  }

  async *body(): AsyncGenerator<Uint8Array, void, undefined> {
    if (!this.hasBody) return
    this.#beginBody(Infinity)
    try {
      const { bodyTimeoutMs: timeoutMs } = this.connection.limits
      yield* streamBody(this.incoming, { timeoutMs, isWhole: () => this.isBodyWhole })
      this.isBodyPending = false
    } catch (error) {
      throw this.#countIfSlow(error)
    }
  }

  write(pieces: readonly Uint8Array[], onSent?: () => void): boolean {
    const { outgoing } = this
    if (this.#isClosed || outgoing.writableEnded) return true
    const last = onSent && pieces.length - 1
    if (pieces.length > 1) outgoing.cork()
    for (const [index, piece] of pieces.entries()) {
      if (index === last) outgoing.write(piece, error => void (error || onSent?.()))
      else outgoing.write(piece)
    }
    if (pieces.length > 1) outgoing.uncork()
    return outgoing.writableLength < unsentBytesMax
  }

  drained(): Promise<void> {
    return this.waitForDrain()
  }

  /** `socket` is an additional source of the event. */
  protected async waitForDrain(socket?: Duplex): Promise<void> {
    const { outgoing } = this
    if (this.#isClosed || !outgoing.writableNeedDrain) return
    const { promise, resolve } = Promise.withResolvers<void>()
    outgoing.once('drain', resolve).once('close', resolve)
    socket?.once('drain', resolve)
    await promise
    outgoing.off('drain', resolve).off('close', resolve)
    socket?.off('drain', resolve)
  }

  protected writeLast(pieces: readonly Uint8Array[]): void {
    if (pieces.length === 1) {
      this.outgoing.end(pieces[0])
    } else {
      this.write(pieces)
      this.outgoing.end()
    }
  }

  protected close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.connection.closed(this)
    for (const callback of this.#onClose) callback()
  }

  #beginBody(limitBytes: number): void {
    if (this.#isClosed) throw new HttpBodyError('aborted')
    this.isBodyPending = true
    if ((declaredBytes(this.headers) ?? 0) > limitBytes) throw new HttpBodyError('too-large')
    if (this.headers['expect'] === '100-continue') this.sendContinue()
  }

  #countIfSlow(error: unknown): unknown {
    if (error instanceof HttpBodyError && error.reason === 'too-slow') this.connection.count('slow-request')
    return error
  }
}

/** Unsent bytes of a response at which `write` returns false. */
const unsentBytesMax = 256 * 1024

const nothing: Uint8Array = new Uint8Array()

/** Avoids an uncaught error when a client disconnects. */
export function ignoringErrors<T extends Readable | Writable>(stream: T): T {
  stream.on('error', ignore)
  return stream
}

function ignore(): void {}
