import type { Clock, Timer } from '#/platform/platform.ts'
import type { Channel } from '../connection/channel.ts'
import { AsyncQueue } from '../connection/async-queue.ts'
import type { SpdyStream } from '../spdy.ts'
import type { ForwardedConnection } from '../streams.ts'
import { parsePort } from './ports.ts'

/** Pairs the data and error streams of each connection. */
export class StreamPairs {
  readonly connections = new AsyncQueue<ForwardedConnection>()
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #waiting = new Map<string, Pair>()

  constructor({ clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number }) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** False if the stream is invalid or its pair is complete. */
  add(stream: SpdyStream): boolean {
    const { port: portText = '', streamtype: type } = stream.headers
    const port = parsePort(portText)
    if (port === undefined || (type !== 'data' && type !== 'error')) return false
    const id = requestIdOf(stream)
    const pair = this.#waiting.get(id) ?? this.#begin(id)
    if (pair[type] !== undefined) return false
    pair[type] = stream.channel
    if (type === 'data') pair.port = port
    if (pair.data !== undefined && pair.error !== undefined) {
      pair.timer.cancel()
      this.#waiting.delete(id)
      this.connections.push(forwarded(pair.port, pair.data, pair.error))
    }
    return true
  }

  /** Called when the client has disconnected. */
  end(): void {
    for (const { timer } of this.#waiting.values()) timer.cancel()
    this.#waiting.clear()
    this.connections.end()
  }

  #begin(id: string): Pair {
    const timer = this.#clock.setTimer(this.#timeoutMs, () => {
      this.#waiting.delete(id)
      pair.data?.destroy()
      if (pair.error === undefined) return
      void pair.error.send(Buffer.from(`(request=${id}) timed out waiting for streams`))
      pair.error.end()
    })
    const pair: Pair = { timer, port: 0 }
    this.#waiting.set(id, pair)
    return pair
  }
}

interface Pair {
  readonly timer: Timer
  data?: Channel
  error?: Channel
  port: number
}

/** Old clients send no request id and open the error stream immediately before the data stream. */
function requestIdOf({ id, headers }: SpdyStream): string {
  const given = headers['requestid'] ?? ''
  if (given !== '') return given
  return String(headers['streamtype'] === 'error' ? id : id - 2)
}

function forwarded(port: number, data: Channel, error: Channel): ForwardedConnection {
  // The client sends nothing on the error stream.
  error.resume()
  // A client that resets the data stream abandons both directions.
  data.once('disconnect', () => data.destroy())
  data.once('close', () => error.end())
  if (data.isDisconnected) data.destroy()
  return {
    port,
    data,
    fail: message => {
      void error.send(Buffer.from(message))
      data.destroy()
    },
  }
}
