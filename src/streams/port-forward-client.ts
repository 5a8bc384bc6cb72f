/** Client side of port-forward: one connection to a pod port through a runtime's streaming server. */
import type { Duplex } from 'node:stream'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Channel } from './connection/channel.ts'
import { connectSpdy } from './spdy-client.ts'
import { portForwardProtocol } from './spdy-handshake.ts'
import type { SpdyConnection } from './spdy.ts'

export interface ConnectPortForwardOptions {
  readonly connectHttp: HttpConnect
  readonly clock: Clock
  /** Single-use URL returned by the runtime. */
  readonly url: string
  readonly port: number
  /** Cancels connecting. */
  readonly signal?: AbortSignal
}

/**
 * Rejects if the server is unreachable or refuses. A later error of the port destroys the connection with the
 * server's message.
 */
export async function connectPortForward(options: ConnectPortForwardOptions): Promise<Duplex> {
  return connectSpdy({ ...options, protocol: portForwardProtocol }, async spdy => {
    const { data, failure } = await openForwardedPort(spdy, { port: options.port, requestId: 0 })
    data.once('close', () => spdy.destroy())
    // An error may follow on the error stream after the data stream has ended, so the end is held back until then.
    let isJudged = false
    data.holdEnd(() => !isJudged)
    void failure.then(text => {
      isJudged = true
      if (text !== '') data.destroy(new Error(text))
      else if (data.hasReceivedEnd) data.receiveEnd()
    })
    return data
  })
}

export interface ForwardedPortOptions {
  readonly port: number
  /** Distinguishes the connections of one client. */
  readonly requestId: number
}

export interface OpenedPort {
  readonly data: Channel
  /**
   * What the server says of the connection at its end; empty if it was good. Servers decide only when the connection
   * has ended in both directions.
   */
  readonly failure: Promise<string>
}

/** Opens the pair of streams of one connection to a port. */
export async function openForwardedPort(
  spdy: SpdyConnection,
  { port, requestId }: ForwardedPortOptions,
): Promise<OpenedPort> {
  const headers = { port: String(port), requestid: String(requestId) }
  const { channel: error } = await spdy.open({ ...headers, streamtype: 'error' })
  error.end()
  const { channel: data } = await spdy.open({ ...headers, streamtype: 'data' })
  return { data, failure: readText(error) }
}

/** Limit of the error message. */
const errorBytesMax = 64 * 1024

/** Never rejects: a broken connection is reported by the data stream. */
async function readText(error: Channel): Promise<string> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of error.bytes()) {
      sizeBytes += piece.length
      if (sizeBytes <= errorBytesMax) pieces.push(piece)
    }
  } catch {
    // Uses what was received before.
  }
  return Buffer.concat(pieces).toString()
}
