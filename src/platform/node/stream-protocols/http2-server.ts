import { constants, performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import { TokenBucket } from '#/base/token-bucket.ts'
import type { Http2ServerOptions, Http2ServerSession } from '../../stream-protocols.ts'
import { NodeHttp2Stream } from './http2-stream.ts'

export function serveHttp2(connection: Duplex, options: Http2ServerOptions): Http2ServerSession {
  const session = performServerHandshake(connection, {
    settings: { maxConcurrentStreams: options.streamsMax, maxHeaderListSize: options.headerBytesMax },
    maxSessionMemory: sessionMemoryMax,
    // A repeated field of a backend is passed on, as over HTTP/1.1.
    strictSingleValueFields: false,
    streamResetBurst: options.resetsBurst,
    streamResetRate: options.resetsPerSecond,
  })
  const { controlFramesBurst: burst, controlFramesPerSecond: perSecond } = options
  const bucket = new TokenBucket({ burst, perSecond }, performance.now())
  const countControlFrame = (): void => {
    if (!bucket.take(performance.now())) session.destroy()
  }
  session.on('ping', countControlFrame)
  session.on('remoteSettings', countControlFrame)
  session.on('error', () => undefined)
  session.once('close', () => options.onClose())
  session.on('stream', (stream: ServerHttp2Stream, ...[, , rawHeaders]) => {
    options.onStream(new ServerStream(stream), rawHeaders, stream.endAfterHeaders)
  })
  return { close: () => session.close(), destroy: () => session.destroy() }
}

/** In megabytes per connection. Beyond it new streams of the connection are refused. */
const sessionMemoryMax = 64

class ServerStream extends NodeHttp2Stream<ServerHttp2Stream> {
  #waitsForTrailers = false

  protected get waitsForTrailers(): boolean {
    return this.#waitsForTrailers
  }

  respond(fields: readonly string[], isEnded: boolean): void {
    const { stream } = this
    if (stream.destroyed || stream.closed || stream.headersSent) return
    this.#waitsForTrailers = !isEnded
    // Node's types have only the form with an object.
    const raw = fields as unknown as Record<string, string>
    try {
      stream.respond(raw, isEnded ? { endStream: true } : { waitForTrailers: true })
    } catch {
      // Fields that Node does not send.
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    }
  }

  inform(fields: readonly string[]): void {
    const { stream } = this
    if (stream.destroyed || stream.closed || stream.headersSent) return
    const headers: Record<string, string> = {}
    for (let index = 0; index < fields.length; index += 2) headers[fields[index]!] = fields[index + 1]!
    try {
      stream.additionalHeaders(headers)
    } catch {
      // An interim response may be lost.
    }
  }
}
