/** One connection to a port of a pod, through the streaming server of a container runtime. */
import type { Duplex } from 'node:stream'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Clock } from '#/platform/platform.ts'
import type { Channel } from './connection/channel.ts'
import { connectSpdy } from './spdy-client.ts'

export interface ConnectForwardedPortOptions {
  readonly connectHttp: HttpConnect
  readonly clock: Clock
  /** As the runtime said. It is used once. */
  readonly url: string
  readonly port: number
  /** Gives up connecting. */
  readonly signal?: AbortSignal
}

/**
 * Rejects when the server cannot be reached or refuses. What the server says of the port later destroys the
 * connection with an error of that text.
 */
export async function connectForwardedPort(options: ConnectForwardedPortOptions): Promise<Duplex> {
  return connectSpdy({ ...options, protocol: 'portforward.k8s.io' }, async spdy => {
    const headers = { port: String(options.port), requestid: '0' }
    const { channel: error } = await spdy.open({ ...headers, streamtype: 'error' })
    error.end()
    const { channel: data } = await spdy.open({ ...headers, streamtype: 'data' })
    data.once('close', () => spdy.destroy())
    // Whether this is a good end shows in the other stream, which some servers write to only after this one has ended.
    let isJudged = false
    data.holdEnd(() => !isJudged)
    void readText(error).then(text => {
      isJudged = true
      if (text !== '') data.destroy(new Error(text))
      else if (data.hasArrivedAll) data.arriveEnd()
    })
    return data
  })
}

/** Nobody needs more to know what went wrong. */
const errorBytesMax = 64 * 1024

/** Never rejects: that the connection broke the other stream learns by itself. */
async function readText(error: Channel): Promise<string> {
  const pieces: Uint8Array[] = []
  let sizeBytes = 0
  try {
    for await (const piece of error.bytes()) {
      sizeBytes += piece.length
      if (sizeBytes <= errorBytesMax) pieces.push(piece)
    }
  } catch {
    // What came before is all there is.
  }
  return Buffer.concat(pieces).toString()
}
