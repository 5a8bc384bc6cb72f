/**
 * A connection taken over from HTTP. Reads and writes respect backpressure, and an idle connection is closed
 * after a timeout.
 */
import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '#/platform/platform.ts'

export interface UpgradedConnectionOptions {
  readonly connection: Duplex
  /** Bytes received before the connection was taken over. */
  readonly head?: Uint8Array
  readonly clock: Clock
  readonly idleTimeoutMs?: number
}

/** Time for the peer to close the connection after our end. */
const lingerMs = 5_000

export class UpgradedConnection {
  readonly #connection: Duplex
  readonly #head: Uint8Array | undefined
  readonly #clock: Clock
  readonly #idleTimeoutMs: number | undefined
  readonly #gone = new AbortController()
  readonly #closed = Promise.withResolvers<void>()
  /** Writers waiting for the buffer to drain. */
  readonly #writing = new Set<() => void>()
  #activeMs: number
  #idleTimer: Timer | undefined

  constructor({ connection, head, clock, idleTimeoutMs }: UpgradedConnectionOptions) {
    this.#connection = connection
    this.#head = head
    this.#clock = clock
    this.#idleTimeoutMs = idleTimeoutMs
    this.#activeMs = clock.monotonicMs()
    // The reader sees the error; without a listener it would crash the process.
    connection.on('error', () => undefined)
    if (connection.closed) this.#onClose()
    else connection.once('close', () => this.#onClose())
    this.#watchIdle()
  }

  /** Aborted when the connection is closed for any reason. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Ends when the peer has half-closed; throws if the connection broke. Can be called once. */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#head !== undefined && this.#head.length > 0) yield this.#head
    if (this.#connection.destroyed) throw new Error('the connection is closed')
    try {
      for await (const piece of this.#connection.iterator({ destroyOnReturn: false })) {
        this.#activeMs = this.#clock.monotonicMs()
        yield piece as Uint8Array
      }
    } finally {
      // Discards further data, but still receives the end.
      this.#connection.resume()
    }
  }

  /** Resolves when more can be written. Does nothing once the connection is closed. */
  write(pieces: readonly Uint8Array[]): Promise<void> {
    const connection = this.#connection
    if (!connection.writable) return Promise.resolve()
    this.#activeMs = this.#clock.monotonicMs()
    return new Promise(resolve => {
      const done = (): void => {
        this.#writing.delete(done)
        resolve()
      }
      this.#writing.add(done)
      let hasRoom = true
      connection.cork()
      for (const [index, piece] of pieces.entries()) {
        hasRoom = connection.write(piece, index === pieces.length - 1 ? done : () => undefined)
      }
      connection.uncork()
      if (hasRoom) done()
    })
  }

  /**
   * Flushes and half-closes the connection, then waits a limited time for the peer to close it: closing with
   * unread data would send a reset, and the peer could lose data. A reader has to continue or return.
   */
  async close(): Promise<void> {
    if (this.#connection.destroyed) return
    this.#connection.end()
    const timer = this.#clock.setTimer(lingerMs, () => this.destroy())
    await this.#closed.promise
    timer.cancel()
  }

  destroy(): void {
    this.#connection.destroy()
  }

  #onClose(): void {
    this.#idleTimer?.cancel()
    this.#closed.resolve()
    // Not every stream calls the callbacks of pending writes.
    for (const done of this.#writing) done()
    this.#gone.abort(new Error('the connection is closed'))
  }

  #watchIdle(): void {
    const limitMs = this.#idleTimeoutMs
    if (limitMs === undefined || this.#gone.signal.aborted) return
    const leftMs = this.#activeMs + limitMs - this.#clock.monotonicMs()
    if (leftMs <= 0) return this.destroy()
    this.#idleTimer = this.#clock.setTimer(leftMs, () => this.#watchIdle())
  }
}
