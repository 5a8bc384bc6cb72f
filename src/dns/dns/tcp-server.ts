import type { Duplex } from 'node:stream'
import type { Clock } from '#/platform/platform.ts'
import { framed, FrameReader } from './tcp-frames.ts'

/** Connections at a time; further ones are closed. */
const connectionsMax = 500

/** A connection on which nothing is asked for so long is closed. */
const idleMs = 10_000

/** Questions of one connection that are worked on at once; then it is not read any further. */
const pendingMax = 16

/** Answers of one connection that its client has not read. */
const unreadBytesMax = 512 * 1024

/** Answers the questions that come on connections. The answer to one need not wait for that to another. */
export class TcpServer {
  readonly #clock: Clock
  readonly #answer: (message: Uint8Array) => Promise<Uint8Array | undefined>
  readonly #connections = new Set<Duplex>()

  constructor(clock: Clock, answer: (message: Uint8Array) => Promise<Uint8Array | undefined>) {
    this.#clock = clock
    this.#answer = answer
  }

  accept(connection: Duplex): void {
    if (this.#connections.size >= connectionsMax) return void connection.destroy()
    this.#connections.add(connection)
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
      const answer = await this.#answer(message)
      pending--
      if (connection.destroyed) return
      if (answer !== undefined) connection.write(framed(answer))
      // Who asks and does not read is not answered any further.
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
