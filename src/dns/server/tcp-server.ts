import type { Duplex } from 'node:stream'
import { ConnectionPool } from '#/base/connection-pool.ts'
import type { Clock } from '#/platform/platform.ts'
import { framed, FrameReader } from './tcp-frames.ts'

/** Maximum number of connections, see `ConnectionPool`. */
const connectionsMax = 500

/** Idle timeout of a connection. */
const idleMs = 10_000

/** Maximum number of concurrent queries of one connection; reading pauses beyond that. */
const pendingMax = 16

/** Maximum size of the unread responses of one connection. */
const unreadBytesMax = 512 * 1024

type AnswerMessage = (message: Uint8Array, client: string) => Promise<Uint8Array | undefined>

/** Serves DNS over TCP. Responses of one connection may be sent out of order. */
export class TcpServer {
  readonly #clock: Clock
  readonly #answer: AnswerMessage
  readonly #connections = new ConnectionPool<Duplex>(connectionsMax)

  constructor(clock: Clock, answer: AnswerMessage) {
    this.#clock = clock
    this.#answer = answer
  }

  accept(connection: Duplex, address: string): void {
    const closed = this.#connections.add(connection, { address, nowMs: this.#clock.monotonicMs() })
    closed?.destroy()
    if (closed === connection) return
    connection.on('error', () => undefined)
    const frames = new FrameReader()
    let pending = 0
    let hasEnded = false
    let timer = this.#clock.setTimer(idleMs, () => void connection.destroy())
    const restart = (): void => {
      timer.cancel()
      timer = this.#clock.setTimer(idleMs, () => void connection.destroy())
    }
    const serve = async (message: Uint8Array): Promise<void> => {
      const answer = await this.#answer(message, address)
      pending--
      if (connection.destroyed) return
      if (answer !== undefined) connection.write(framed(answer))
      // Closes connections of clients that do not read their responses.
      if (connection.writableLength > unreadBytesMax) return void connection.destroy()
      if (hasEnded && pending === 0) return void connection.end()
      if (pending < pendingMax) connection.resume()
    }
    connection.once('close', () => {
      timer.cancel()
      this.#connections.delete(connection)
    })
    connection.once('end', () => {
      hasEnded = true
      if (pending === 0) connection.end()
    })
    connection.on('data', (bytes: Uint8Array) => {
      for (const message of frames.push(bytes)) {
        restart()
        pending++
        void serve(message)
      }
      if (pending >= pendingMax) connection.pause()
    })
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.destroy()
  }
}
