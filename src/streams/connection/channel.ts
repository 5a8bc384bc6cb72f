/** One of several streams multiplexed on a connection, as a Node.js Duplex. */
import { Duplex } from 'node:stream'
import type { ReceiveWindow } from './receive-window.ts'

/** Transport of a channel. */
export interface ChannelTransport {
  /** Resolves when more can be sent. */
  send(bytes: Uint8Array): Promise<void>
  /** Half-closes the channel. */
  sendEnd(): Promise<void>
  /** Called when the channel is destroyed locally. */
  gone(): void
}

export class Channel extends Duplex {
  readonly #window: ReceiveWindow
  readonly #transport: ChannelTransport
  /** Received data that has not been read. */
  readonly #inbox: Uint8Array[] = []
  #hasReceivedAny = false
  #hasReceivedEnd = false
  #isEndPushed = false
  #isEndHeld: () => boolean = () => false
  #isWanted = false
  #isDisconnected = false

  constructor(window: ReceiveWindow, transport: ChannelTransport) {
    super({ allowHalfOpen: true })
    this.#window = window
    this.#transport = transport
    // Readers and writers see the error; without a listener it would crash the process.
    this.on('error', () => undefined)
  }

  /** True if the peer has sent data. */
  get hasReceivedAny(): boolean {
    return this.#hasReceivedAny
  }

  /** True if the peer has half-closed the channel. */
  get hasReceivedEnd(): boolean {
    return this.#hasReceivedEnd
  }

  /** See `disconnect`. */
  get isDisconnected(): boolean {
    return this.#isDisconnected
  }

  receive(bytes: Uint8Array): void {
    if (this.destroyed || this.#hasReceivedEnd || bytes.length === 0) return
    this.#hasReceivedAny = true
    this.#inbox.push(bytes)
    this.#window.add(bytes.length)
    this.#flush()
  }

  receiveEnd(): void {
    this.#hasReceivedEnd = true
    this.#flush()
  }

  /**
   * Delays the end of the readable side while `isHeld` returns true, so that the holder can destroy the
   * channel with an error instead.
   */
  holdEnd(isHeld: () => boolean): void {
    this.#isEndHeld = isHeld
  }

  /** The peer is gone: received data can still be read; later writes are discarded. */
  disconnect(): void {
    if (this.#isDisconnected) return
    this.#isDisconnected = true
    this.receiveEnd()
    this.emit('disconnect')
  }

  /** Resolves when more can be sent. Does nothing if the peer is gone. */
  send(bytes: Uint8Array): Promise<void> {
    if (!this.writable || this.#isDisconnected) return Promise.resolve()
    return new Promise(resolve => {
      if (this.write(bytes, () => resolve())) resolve()
    })
  }

  /** Resolves when everything is sent or the channel is closed. */
  sendAll(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.closed || this.writableFinished) resolve()
    this.once('close', resolve).once('finish', resolve)
    this.end()
    return promise
  }

  /**
   * Yields received data until the end. Keeps the writable side open; data after an early return is
   * discarded.
   */
  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for await (const piece of this.iterator({ destroyOnReturn: false })) yield piece as Uint8Array
    } finally {
      this.resume()
    }
  }

  override _read(): void {
    this.#isWanted = true
    this.#flush()
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    if (this.#isDisconnected) return done()
    void settle(this.#transport.send(chunk), done)
  }

  override _final(done: (error?: Error) => void): void {
    if (this.#isDisconnected) return done()
    void settle(this.#transport.sendEnd(), done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    for (const { length } of this.#inbox.splice(0)) this.#window.release(length)
    this.#transport.gone()
    done(error)
  }

  #flush(): void {
    while (this.#isWanted && !this.destroyed) {
      const next = this.#inbox.shift()
      if (next === undefined) break
      // Set before the push, because `push` can call `_read` synchronously.
      this.#isWanted = false
      if (this.push(next)) this.#isWanted = true
      this.#window.release(next.length)
    }
    if (!this.#hasReceivedEnd || this.#isEndPushed || this.#inbox.length > 0 || this.destroyed) return
    if (this.#isEndHeld()) return
    this.#isEndPushed = true
    this.push(null)
  }
}

/** Adapts a promise to a Node.js callback. */
export async function settle(promise: Promise<void>, done: (error?: Error) => void): Promise<void> {
  try {
    await promise
  } catch (error) {
    return done(error as Error)
  }
  done()
}
