/**
 * An upgraded or passed-through connection: bytes in both directions, with back pressure and half-closing.
 */
import type { Duplex } from 'node:stream'
import type { Clock } from '#/platform/platform.ts'
import type { DetachedConnection } from './streams.ts'

export class Tunnel {
  readonly #client: DetachedConnection
  readonly #backend: DetachedConnection
  readonly #onEnd: () => void
  #movedMs = 0
  #open = 2

  constructor(client: DetachedConnection, backend: DetachedConnection, onEnd: () => void) {
    this.#client = client
    this.#backend = backend
    this.#onEnd = onEnd
  }

  start(clock: Clock): void {
    this.#movedMs = clock.monotonicMs()
    this.#forward(this.#client, this.#backend.connection, clock)
    this.#forward(this.#backend, this.#client.connection, clock)
  }

  destroy(): void {
    this.#client.connection.destroy()
    this.#backend.connection.destroy()
  }

  /** Ends the tunnel if nothing has moved for this long. */
  sweep(nowMs: number, timeoutMs: number): void {
    if (nowMs - this.#movedMs > timeoutMs) this.destroy()
  }

  #forward({ connection: from, head }: DetachedConnection, to: Duplex, clock: Clock): void {
    if (head.length > 0) to.write(head)
    from.on('data', (bytes: Uint8Array) => {
      this.#movedMs = clock.monotonicMs()
      if (!to.write(bytes)) from.pause()
    })
    to.on('drain', () => {
      this.#movedMs = clock.monotonicMs()
      from.resume()
    })
    from.once('end', () => to.end())
    from.once('close', () => {
      // What has been written still arrives; a broken connection breaks the other one.
      if (from.readableEnded) to.end(() => to.destroy())
      else to.destroy()
      this.#open--
      if (this.#open === 0) this.#onEnd()
    })
    if (from.destroyed) to.destroy()
    else from.resume()
  }
}
