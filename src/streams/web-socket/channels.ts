/** Channels multiplexed on a WebSocket: the first byte of each message is the channel number. */
import { Channel } from '../connection/channel.ts'
import { ReceiveWindow } from '../connection/receive-window.ts'
import type { WebSocket } from '../web-socket.ts'
import type { MessagePiece } from './frame-parser.ts'
import { WebSocketError } from './web-socket-error.ts'

export interface WebSocketChannelsOptions {
  readonly socket: WebSocket
  readonly encoding: 'binary' | 'base64'
  /** Messages can half-close a channel (v5). */
  readonly hasHalfClose: boolean
  /** Half-closes its own channels, which only servers understand. */
  readonly sendsHalfClose?: boolean
  readonly count: number
}

/** Maximum message size. */
const sentBytesMax = 32 * 1024

/** Limit of messages that have to be buffered completely. */
const keptBytesMax = 1024 * 1024

/** Reserved channel number: the next byte is the channel to half-close. */
const endOfChannel = 255

export class WebSocketChannels {
  readonly #socket: WebSocket
  readonly #encoding: 'binary' | 'base64'
  readonly #hasHalfClose: boolean
  readonly #sendsHalfClose: boolean
  readonly #unread = new ReceiveWindow()
  readonly #channels: readonly Channel[]
  /** Channel of the current message. */
  #current = 0
  /** Buffered part of the current message. */
  readonly #kept: Uint8Array[] = []
  #keptBytes = 0

  constructor({ socket, encoding, hasHalfClose, sendsHalfClose, count }: WebSocketChannelsOptions) {
    this.#socket = socket
    this.#encoding = encoding
    this.#hasHalfClose = hasHalfClose
    this.#sendsHalfClose = sendsHalfClose === true
    this.#channels = Array.from({ length: count }, (_, index) => this.#makeChannel(index))
  }

  at(index: number): Channel {
    return this.#channels[index]!
  }

  /** Reads until the WebSocket ends. Can be called once. Never rejects: each channel gets its own error. */
  async run(): Promise<void> {
    try {
      for await (const piece of this.#socket.pieces()) {
        if (this.#encoding === 'base64') this.#takeText(piece)
        else this.#takeBinary(piece)
        await this.#unread.untilReadable(this.#socket.signal)
      }
      for (const channel of this.#channels) channel.disconnect()
    } catch (error) {
      for (const channel of this.#channels) {
        if (channel.hasReceivedEnd) channel.disconnect()
        else channel.destroy(error as Error)
      }
    }
  }

  /** Sends an empty message, which signals clients that the server is ready. */
  sendReady(index: number): Promise<void> {
    return this.#sendMessage(index, new Uint8Array())
  }

  #makeChannel(index: number): Channel {
    const send = async (bytes: Uint8Array): Promise<void> => {
      for (let at = 0; at < bytes.length; at += sentBytesMax)
        await this.#sendMessage(index, bytes.subarray(at, at + sentBytesMax))
    }
    const sendEnd = async (): Promise<void> => {
      if (this.#sendsHalfClose) await this.#sendMessage(endOfChannel, Uint8Array.of(index))
    }
    return new Channel(this.#unread, { send, sendEnd, gone: () => undefined })
  }

  #sendMessage(index: number, bytes: Uint8Array): Promise<void> {
    if (this.#encoding === 'binary') return this.#socket.send([Uint8Array.of(index), bytes])
    const text = Buffer.from(bytes).toString('base64')
    return this.#socket.send([Uint8Array.of(zero + index), Buffer.from(text)], { isText: true })
  }

  #takeBinary({ bytes, isFirst, isLast }: MessagePiece): void {
    let rest = bytes
    if (isFirst) {
      if (bytes.length === 0) return
      this.#current = bytes[0]!
      rest = bytes.subarray(1)
    }
    if (!this.#hasHalfClose || this.#current !== endOfChannel)
      return this.#channels[this.#current]?.receive(rest)
    this.#keep(rest)
    if (!isLast) return
    const [index = endOfChannel, ...others] = this.#whole()
    const channel = this.#channels[index]
    if (channel === undefined || others.length > 0)
      throw new WebSocketError(1002, 'close of an unknown channel')
    channel.receiveEnd()
  }

  #takeText({ bytes, isLast }: MessagePiece): void {
    this.#keep(bytes)
    if (!isLast) return
    const text = this.#whole().toString('latin1')
    if (text === '') return
    if (!/^[^]([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text))
      throw new WebSocketError(1007, 'invalid base64 message')
    this.#channels[text.charCodeAt(0) - zero]?.receive(Buffer.from(text.slice(1), 'base64'))
  }

  #keep(bytes: Uint8Array): void {
    this.#keptBytes += bytes.length
    if (this.#keptBytes > keptBytesMax) throw new WebSocketError(1009, 'a message is too large')
    this.#kept.push(bytes)
  }

  #whole(): Buffer {
    this.#keptBytes = 0
    return Buffer.concat(this.#kept.splice(0))
  }
}

/** ASCII digit of channel 0 in base64 protocols. */
const zero = 48
