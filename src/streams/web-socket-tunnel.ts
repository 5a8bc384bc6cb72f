/** Tunnels a byte stream through the binary messages of a WebSocket. */
import { Duplex } from 'node:stream'
import { settle } from './connection/channel.ts'
import type { WebSocket } from './web-socket.ts'

/** Maximum message size. */
const sentBytesMax = 64 * 1024

export class WebSocketTunnel extends Duplex {
  readonly #socket: WebSocket
  /** Resolved when more data can be pushed. */
  #wanted = Promise.withResolvers<void>()
  #isReading = false

  constructor(socket: WebSocket) {
    super({ allowHalfOpen: false })
    this.#socket = socket
    // Readers and writers see the error; without a listener it would crash the process.
    this.on('error', () => undefined)
  }

  override _read(): void {
    this.#wanted.resolve()
    if (this.#isReading) return
    this.#isReading = true
    this.#pump().catch((error: unknown) => this.destroy(error as Error))
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    void settle(this.#send(chunk), done)
  }

  override _final(done: (error?: Error) => void): void {
    void settle(this.#socket.close(), done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#wanted.resolve()
    this.#socket.destroy()
    done(error)
  }

  async #send(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; at += sentBytesMax)
      await this.#socket.send([chunk.subarray(at, at + sentBytesMax)])
  }

  async #pump(): Promise<void> {
    for await (const { isText, bytes } of this.#socket.pieces()) {
      if (isText) throw new Error('unexpected text message in tunnel')
      if (bytes.length === 0 || this.destroyed) continue
      this.#wanted = Promise.withResolvers()
      if (!this.push(bytes)) await this.#wanted.promise
    }
    this.push(null)
  }
}
