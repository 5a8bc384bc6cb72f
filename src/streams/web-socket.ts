/**
 * Client and server side of a WebSocket (RFC 6455) after the handshake. Messages are delivered in pieces, so
 * that large ones need no buffer; extensions are not supported. A peer that violates the protocol gets a
 * close frame and is disconnected.
 */
import type { Clock, Timer } from '#/platform/platform.ts'
import type { UpgradedConnection } from './connection/upgraded-connection.ts'
import { FrameParser, opcodes, type MessagePiece, applyMask } from './web-socket/frame-parser.ts'
import { WebSocketError } from './web-socket/web-socket-error.ts'

export interface WebSocketOptions {
  readonly connection: UpgradedConnection
  /** Random key of four bytes for client frames (RFC 6455, 5.3). Absent on a server. */
  readonly maskingKey?: () => Uint8Array
  readonly heartbeat?: Heartbeat
}

/** Pings keep an idle connection open, and find out that the peer is gone. */
export interface Heartbeat {
  readonly clock: Clock
  readonly intervalMs: number
  /** A peer that sends nothing for this time, although it is read, is disconnected. */
  readonly timeoutMs: number
}

export interface CloseFrame {
  /** 1005 if the frame has none. */
  readonly code: number
  readonly reason: string
}

const normalClosure = 1000
const protocolError = 1002
const noStatus = 1005

export class WebSocket {
  readonly #connection: UpgradedConnection
  readonly #maskingKey: (() => Uint8Array) | undefined
  readonly #heartbeat: Heartbeat | undefined
  readonly #peerHasSent = Promise.withResolvers<void>()
  #isCloseSent = false
  #closeFrame: CloseFrame | undefined
  #heartbeatTimer: Timer | undefined
  /** Since when the reader waits for the peer; undefined while received data is consumed. */
  #waitingSinceMs: number | undefined
  #hasTimedOut = false

  constructor({ connection, maskingKey, heartbeat }: WebSocketOptions) {
    this.#connection = connection
    this.#maskingKey = maskingKey
    this.#heartbeat = heartbeat
  }

  /** The close frame of the peer. */
  get closeFrame(): CloseFrame | undefined {
    return this.#closeFrame
  }

  /** Aborted when the connection is closed. */
  get signal(): AbortSignal {
    return this.#connection.signal
  }

  /** Resolves when the peer has sent anything, including a pong: it is reading then. */
  get peerHasSent(): Promise<void> {
    return this.#peerHasSent.promise
  }

  /**
   * Yields received messages. Can be called once. Ends when the peer closes the WebSocket; throws on protocol
   * violations and connection errors. Pings are answered only while it is read.
   */
  async *pieces(): AsyncGenerator<MessagePiece, void, undefined> {
    try {
      const closing = yield* this.#untilClosed()
      if (closing.length === 1) throw new WebSocketError(1002, 'truncated close frame')
      const code = closing.length >= 2 ? (closing[0]! << 8) | closing[1]! : noStatus
      this.#closeFrame = { code, reason: Buffer.from(closing.subarray(2)).toString() }
      const answer = code === noStatus ? normalClosure : code
      await this.#sendClose(isSendable(answer) ? answer : protocolError, '')
    } catch (error) {
      if (error instanceof WebSocketError) await this.#sendClose(error.code, error.message)
      // No graceful close for a peer that disconnected without a close frame.
      else this.#connection.destroy()
      throw error
    } finally {
      void this.#connection.close()
    }
  }

  /** Sends one message. Resolves when more can be sent. */
  async send(pieces: readonly Uint8Array[], { isText = false } = {}): Promise<void> {
    if (!this.#isCloseSent) await this.#write(isText ? opcodes.text : opcodes.binary, pieces)
  }

  /** The peer sends a pong once it reads the ping. */
  async ping(): Promise<void> {
    if (!this.#isCloseSent) await this.#write(opcodes.ping, [])
  }

  /**
   * Sends a close frame and closes the connection; resolves when it is closed. If `pieces` is not read
   * meanwhile, this takes until the peer is disconnected by timeout.
   */
  async close(code = normalClosure, reason = ''): Promise<void> {
    await this.#sendClose(code, reason)
    await this.#connection.close()
  }

  destroy(): void {
    this.#connection.destroy()
  }

  /** Returns the payload of the close frame. */
  async *#untilClosed(): AsyncGenerator<MessagePiece, Uint8Array, undefined> {
    const parser = new FrameParser({ isMasked: this.#maskingKey === undefined })
    this.#waitingSinceMs = this.#heartbeat?.clock.monotonicMs()
    this.#beat()
    try {
      for await (const chunk of this.#connection.read()) {
        this.#waitingSinceMs = undefined
        for (const event of parser.parse(chunk)) {
          this.#peerHasSent.resolve()
          if (event.type === 'message') yield event
          else if (event.type === 'ping') await this.#write(opcodes.pong, [event.bytes])
          else if (event.type === 'close') return event.bytes
        }
        this.#waitingSinceMs = this.#heartbeat?.clock.monotonicMs()
      }
    } catch (error) {
      throw this.#hasTimedOut ? timedOut() : error
    } finally {
      this.#heartbeatTimer?.cancel()
    }
    throw this.#hasTimedOut
      ? timedOut()
      : new Error('websocket: close 1006 (abnormal closure): unexpected EOF')
  }

  #beat(): void {
    if (this.#heartbeat === undefined) return
    const { clock, intervalMs, timeoutMs } = this.#heartbeat
    this.#heartbeatTimer = clock.setTimer(intervalMs, () => {
      if (this.#waitingSinceMs !== undefined && clock.monotonicMs() - this.#waitingSinceMs >= timeoutMs) {
        this.#hasTimedOut = true
        return this.destroy()
      }
      void this.ping()
      this.#beat()
    })
  }

  async #sendClose(code: number, reason: string): Promise<void> {
    if (this.#isCloseSent) return
    this.#isCloseSent = true
    const text = Buffer.from(reason).subarray(0, 123)
    await this.#write(opcodes.close, [Uint8Array.of(code >> 8, code & 0xff), text])
  }

  #write(opcode: number, pieces: readonly Uint8Array[]): Promise<void> {
    return this.#connection.write(frameBytes(opcode, pieces, this.#maskingKey?.()))
  }
}

function timedOut(): Error {
  return new Error('i/o timeout')
}

/** Close codes allowed on the wire (RFC 6455, 7.4). */
function isSendable(code: number): boolean {
  return (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000)
}

/** A complete frame as consecutive pieces. Masked payload is copied. */
export function frameBytes(
  opcode: number,
  pieces: readonly Uint8Array[],
  key: Uint8Array | undefined,
): Uint8Array[] {
  let length = 0
  for (const piece of pieces) length += piece.length
  const head = headBytes(opcode, length, key !== undefined)
  if (key === undefined) return [head, ...pieces.filter(piece => piece.length > 0)]
  const masked = Buffer.concat(pieces)
  applyMask(masked, key)
  return [head, key, masked]
}

function headBytes(opcode: number, length: number, isMasked: boolean): Uint8Array {
  const first = 0x80 | opcode
  const mask = isMasked ? 0x80 : 0
  if (length < 126) return Uint8Array.of(first, mask | length)
  if (length < 65_536) return Uint8Array.of(first, mask | 126, length >> 8, length & 0xff)
  const head = Buffer.alloc(10)
  head[0] = first
  head[1] = mask | 127
  head.writeUInt32BE(Math.floor(length / 2 ** 32), 2)
  head.writeUInt32BE(length % 2 ** 32, 6)
  return head
}
