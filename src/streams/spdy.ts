/**
 * Client and server side of SPDY/3.1 as used by Kubernetes' clients, kubelets and container runtimes: streams
 * with headers and half-close, PING and GOAWAY. None of them implements per-stream flow control, and
 * enforcing it would stall streams after 64 KiB, so backpressure comes from the connection only.
 */
import type { Clock, Timer } from '#/platform/platform.ts'
import { Channel } from './connection/channel.ts'
import { ReceiveWindow } from './connection/receive-window.ts'
import type { UpgradedConnection } from './connection/upgraded-connection.ts'
import {
  controlBytes,
  dataHead,
  goAwayStatus,
  kinds,
  openBytes,
  readControl,
  resetStatus,
  type Control,
} from './spdy/control-frame.ts'
import { SpdyFrameParser, type SpdyPiece } from './spdy/frame-parser.ts'
import { headerBlock, readHeaderBlock, type SpdyHeaders } from './spdy/header-block.ts'
import { HeaderReader, HeaderWriter } from './spdy/header-compression.ts'
import { SpdyError } from './spdy/spdy-error.ts'

export interface SpdyOptions {
  readonly connection: UpgradedConnection
  readonly clock: Clock
  readonly side: 'client' | 'server'
  /** Called for each stream that the peer opens; false refuses it. */
  readonly onStream?: (stream: SpdyStream) => boolean
  /** Sends pings, which keep an idle connection open at proxies. No reply is required. */
  readonly pingIntervalMs?: number
}

export interface SpdyStream {
  readonly id: number
  readonly headers: SpdyHeaders
  /** Emits `cut-off` when the peer resets the stream. */
  readonly channel: Channel
}

/** Maximum number of open streams; further ones are refused. */
export const streamsMax = 1_000

/** Timeout for the peer's reply to an opened stream. */
const replyTimeoutMs = 30_000

/** Maximum size of data frames, so that frames of other streams can be interleaved. */
const dataBytesMax = 32 * 1024

interface OpenStream extends SpdyStream {
  /** Resolves when both sides have opened the stream. Nothing is sent before. */
  readonly opened: PromiseWithResolvers<void>
  isOpened: boolean
  hasSentAll: boolean
}

export class SpdyConnection {
  readonly #connection: UpgradedConnection
  readonly #clock: Clock
  readonly #side: 'client' | 'server'
  readonly #onStream: (stream: SpdyStream) => boolean
  readonly #unread = new ReceiveWindow()
  readonly #headerWriter = new HeaderWriter()
  readonly #headerReader = new HeaderReader()
  readonly #streams = new Map<number, OpenStream>()
  readonly #pingIntervalMs: number | undefined
  #nextId: number
  #nextPingId: number
  #lastPeerId = 0
  /** GOAWAY was received: the end of the connection is orderly. */
  #hasPeerLeft = false
  #isClosing = false
  /** The connection was destroyed locally. */
  #isCut = false
  #isEnded = false
  #pingTimer: Timer | undefined

  constructor({ connection, clock, side, onStream = () => false, pingIntervalMs }: SpdyOptions) {
    this.#connection = connection
    this.#clock = clock
    this.#side = side
    this.#onStream = onStream
    this.#nextId = side === 'client' ? 1 : 2
    this.#nextPingId = this.#nextId
    this.#pingIntervalMs = pingIntervalMs
  }

  /** Aborted when the connection is closed. */
  get signal(): AbortSignal {
    return this.#connection.signal
  }

  /**
   * Processes frames until the connection ends. Can be called once. Never rejects: each stream gets its own
   * error.
   */
  async run(): Promise<void> {
    const parser = new SpdyFrameParser()
    let failure = new Error('connection closed without GOAWAY')
    this.#ping()
    try {
      for await (const chunk of this.#connection.read()) {
        for (const piece of parser.parse(chunk)) {
          await this.#take(piece)
          // Only a local destroy stops processing: received frames are handled even if the peer has closed.
          if (this.#isCut) break
        }
        await this.#unread.untilReadable(this.#connection.signal)
      }
    } catch (error) {
      failure = error as Error
      if (error instanceof SpdyError) await this.#sendGoAway(goAwayStatus.protocolError)
    }
    this.#isEnded = true
    this.#pingTimer?.cancel()
    this.#headerReader.close()
    for (const stream of this.#streams.values()) this.#lose(stream, failure)
    this.#streams.clear()
    // No graceful close for a peer that closed without GOAWAY.
    if (this.#isClosing || this.#hasPeerLeft) await this.#connection.close()
    else this.#connection.destroy()
  }

  /** Rejects if the peer refuses the stream, does not reply in time, or disconnects. */
  async open(headers: SpdyHeaders): Promise<SpdyStream> {
    if (this.#isEnded || this.#isClosing) throw new Error('the connection is closed')
    const id = this.#nextId
    this.#nextId += 2
    const stream = this.#add(id, headers)
    await this.#connection.write([openBytes(id, this.#headerWriter.write(headerBlock(headers)))])
    const timer = this.#clock.setTimer(replyTimeoutMs, () =>
      stream.opened.reject(new Error('timed out waiting for SYN_REPLY')),
    )
    try {
      await stream.opened.promise
      return stream
    } catch (error) {
      stream.channel.destroy()
      throw error
    } finally {
      timer.cancel()
    }
  }

  /** Resets open streams, sends GOAWAY and closes the connection. Resolves when it is closed. */
  async close(): Promise<void> {
    for (const { channel } of this.#streams.values()) channel.destroy()
    await this.#sendGoAway(goAwayStatus.ok)
    await this.#connection.close()
  }

  destroy(): void {
    this.#isCut = true
    this.#connection.destroy()
  }

  async #sendGoAway(status: number): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    await this.#connection.write([controlBytes(kinds.goAway, [this.#lastPeerId, status])])
  }

  #ping(): void {
    if (this.#pingIntervalMs === undefined || this.#isEnded) return
    this.#pingTimer = this.#clock.setTimer(this.#pingIntervalMs, () => {
      void this.#connection.write([controlBytes(kinds.ping, [this.#nextPingId])])
      // The parity is that of the streams: the id of a reply is the same.
      this.#nextPingId = (this.#nextPingId + 2) % 2 ** 31
      this.#ping()
    })
  }

  async #take(piece: SpdyPiece): Promise<void> {
    if (piece.type === 'control') return this.#takeControl(readControl(piece))
    // Undefined for a stream that we have reset while the peer was still sending.
    const stream = this.#streams.get(piece.streamId)
    stream?.channel.receive(piece.bytes)
    if (stream !== undefined && piece.isEnd) this.#onEnd(stream)
  }

  async #takeControl(control: Control): Promise<void> {
    switch (control.type) {
      case 'open':
      case 'reply':
      case 'headers':
        return this.#takeHeaders(control, readHeaderBlock(await this.#headerReader.read(control.block)))
      case 'reset':
        return this.#onReset(control.streamId)
      case 'ping': {
        // Clients use odd ids and servers even ones: a ping with our parity is a reply.
        const isOurs = (control.id % 2 === 1) === (this.#side === 'client')
        return isOurs ? undefined : this.#connection.write([controlBytes(kinds.ping, [control.id])])
      }
      case 'go-away':
        this.#hasPeerLeft = true
        return
      case 'ignored':
        return
    }
  }

  async #takeHeaders(
    { type, streamId, isEnd }: Control & { readonly streamId: number; readonly isEnd: boolean },
    headers: SpdyHeaders,
  ): Promise<void> {
    if (type === 'open') return this.#onOpen(streamId, headers, isEnd)
    const stream = this.#streams.get(streamId)
    if (stream === undefined) return
    if (type === 'reply') {
      stream.isOpened = true
      stream.opened.resolve()
    }
    if (isEnd) this.#onEnd(stream)
  }

  async #onOpen(id: number, headers: SpdyHeaders, isEnd: boolean): Promise<void> {
    const isTheirs = (id % 2 === 0) === (this.#side === 'client')
    if (!isTheirs || id <= this.#lastPeerId) return this.#reset(id, resetStatus.protocolError)
    this.#lastPeerId = id
    if (this.#isClosing || this.#streams.size >= streamsMax) return this.#reset(id, resetStatus.refused)
    const stream = this.#add(id, headers)
    if (isEnd) this.#onEnd(stream)
    if (!this.#onStream(stream)) {
      this.#streams.delete(id)
      stream.channel.destroy()
      return this.#reset(id, resetStatus.cancel)
    }
    await this.#connection.write([controlBytes(kinds.reply, [id], this.#headerWriter.write(headerBlock({})))])
    stream.isOpened = true
    stream.opened.resolve()
  }

  #add(id: number, headers: SpdyHeaders): OpenStream {
    const opened = Promise.withResolvers<void>()
    // Prevents an unhandled rejection if nothing awaits it.
    opened.promise.catch(() => undefined)
    const channel = new Channel(this.#unread, {
      send: bytes => this.#send(stream, bytes),
      sendEnd: () => this.#sendEnd(stream),
      gone: () => this.#onGone(stream),
    })
    const stream: OpenStream = { id, headers, channel, opened, isOpened: false, hasSentAll: false }
    this.#streams.set(id, stream)
    return stream
  }

  async #send(stream: OpenStream, bytes: Uint8Array): Promise<void> {
    if (!stream.isOpened) await stream.opened.promise
    for (let at = 0; at < bytes.length && this.#streams.has(stream.id); at += dataBytesMax) {
      const piece = bytes.subarray(at, at + dataBytesMax)
      await this.#connection.write([dataHead(stream.id, piece.length, { isEnd: false }), piece])
    }
  }

  async #sendEnd(stream: OpenStream): Promise<void> {
    if (!stream.isOpened) await stream.opened.promise
    if (!this.#streams.has(stream.id)) return
    stream.hasSentAll = true
    await this.#connection.write([dataHead(stream.id, 0, { isEnd: true })])
    if (stream.channel.hasReceivedEnd) this.#streams.delete(stream.id)
  }

  #onEnd(stream: OpenStream): void {
    stream.channel.receiveEnd()
    if (stream.hasSentAll) this.#streams.delete(stream.id)
  }

  #onReset(id: number): void {
    const stream = this.#streams.get(id)
    if (stream === undefined) return
    this.#streams.delete(id)
    stream.opened.reject(new Error('stream was reset by the peer'))
    stream.channel.disconnect()
  }

  #onGone(stream: OpenStream): void {
    stream.opened.reject(new Error('stream was closed locally'))
    if (this.#streams.get(stream.id) !== stream) return
    this.#streams.delete(stream.id)
    if (!this.#isEnded) void this.#reset(stream.id, resetStatus.cancel)
  }

  #reset(id: number, status: number): Promise<void> {
    return this.#connection.write([controlBytes(kinds.reset, [id, status])])
  }

  /** The connection ended before the stream. */
  #lose({ channel, opened }: OpenStream, failure: Error): void {
    opened.reject(failure)
    if (this.#hasPeerLeft || channel.hasReceivedEnd) channel.disconnect()
    else channel.destroy(failure)
  }
}
