/**
 * A connection that was taken over from HTTP: its bytes, from the first one on, and how it ends. It is read no faster
 * than somebody asks for more, and who writes waits until there is room. One on which nothing happens for long is
 * closed.
 */
import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '#/platform/platform.ts'

export interface WireOptions {
  readonly connection: Duplex
  /** What came before the connection was taken over. */
  readonly head?: Uint8Array
  readonly clock: Clock
  readonly idleTimeoutMs?: number
}

/** How long a peer that has been told everything may take to hang up. */
const lingerMs = 5_000

export class Wire {
  readonly #connection: Duplex
  readonly #head: Uint8Array | undefined
  readonly #clock: Clock
  readonly #idleTimeoutMs: number | undefined
  readonly #gone = new AbortController()
  readonly #closed = Promise.withResolvers<void>()
  /** Those who wait until there is room. */
  readonly #writing = new Set<() => void>()
  #activeMs: number
  #idleTimer: Timer | undefined

  constructor({ connection, head, clock, idleTimeoutMs }: WireOptions) {
    this.#connection = connection
    this.#head = head
    this.#clock = clock
    this.#idleTimeoutMs = idleTimeoutMs
    this.#activeMs = clock.monotonicMs()
    // Whoever reads learns of an error; unheard it would end the process.
    connection.on('error', () => undefined)
    if (connection.closed) this.#onClose()
    else connection.once('close', () => this.#onClose())
    this.#watchIdle()
  }

  /** Aborted when the connection is closed, for whatever reason. */
  get signal(): AbortSignal {
    return this.#gone.signal
  }

  /** Ends when the peer has sent all; throws when the connection broke. Once. */
  async *read(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.#head !== undefined && this.#head.length > 0) yield this.#head
    if (this.#connection.destroyed) throw new Error('the connection is closed')
    try {
      for await (const piece of this.#connection.iterator({ destroyOnReturn: false })) {
        this.#activeMs = this.#clock.monotonicMs()
        yield piece as Uint8Array
      }
    } finally {
      // What comes from now on is not wanted, but the end of it is.
      this.#connection.resume()
    }
  }

  /** Resolves when there is room for more. Does nothing once the connection is gone. */
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
   * Sends what waits to be sent and hangs up. The peer is given time to do the same: to close a connection on which
   * bytes still arrive would make its operating system throw away what it has not read. Whoever reads must go on, or
   * stop reading.
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
    // Not every stream tells them.
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
