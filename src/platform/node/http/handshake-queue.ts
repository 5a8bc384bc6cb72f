/**
 * Starts TLS handshakes. Each takes about a millisecond, so that many clients that connect at once would block the
 * event loop: in each of its turns the queue starts only some. Client addresses take turns, so that one with many
 * connections does not delay others.
 */
import type { Socket } from 'node:net'

/** Short enough that requests on established connections are not delayed noticeably. */
const sliceMs = 4

export class HandshakeQueue {
  readonly #start: (socket: Socket) => void
  /** By client address; the first one is served next. None is empty. */
  readonly #waiting = new Map<string, Socket[]>()
  #isRunning = false
  #sliceEndMs = 0

  constructor(start: (socket: Socket) => void) {
    this.#start = start
  }

  /** Without others the handshake starts immediately. */
  add(socket: Socket): void {
    this.#waiting.getOrInsertComputed(socket.remoteAddress ?? '', () => []).push(socket)
    if (!this.#isRunning) this.#run()
  }

  readonly #run = (): void => {
    this.#isRunning = this.#waiting.size > 0
    if (!this.#isRunning) return
    this.#sliceEndMs = performance.now() + sliceMs
    this.#continue()
  }

  readonly #continue = (): void => {
    if (this.#waiting.size === 0 || performance.now() >= this.#sliceEndMs) return void setImmediate(this.#run)
    this.#startNext()
    // Node reads what has arrived, which is most of the work, in the next tick.
    process.nextTick(this.#continue)
  }

  #startNext(): void {
    const [address, sockets] = this.#waiting.entries().next().value!
    const socket = sockets.shift()!
    this.#waiting.delete(address)
    if (sockets.length > 0) this.#waiting.set(address, sockets)
    if (!socket.destroyed) this.#start(socket)
  }
}
