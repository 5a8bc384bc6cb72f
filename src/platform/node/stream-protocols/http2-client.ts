import { connect, type ClientHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { Http2ClientOptions, Http2ClientSession, Http2StreamEvents } from '../../stream-protocols.ts'
import { NodeHttp2Stream } from './http2-stream.ts'

export function connectHttp2(connection: Duplex, options: Http2ClientOptions): Http2ClientSession {
  // The origin serves only for pseudo-headers that a request leaves out; those of a proxy are complete.
  // A repeated field is passed on, as over HTTP/1.1; Node's types have this option for servers only.
  const sessionOptions = { maxSessionMemory: sessionMemoryMax, strictSingleValueFields: false }
  const session = connect('http://backend', { ...sessionOptions, createConnection: () => connection })
  session.on('error', () => undefined)
  session.once('close', () => options.onClose())
  session.once('goaway', () => session.close())
  return {
    get streamsMax() {
      return session.remoteSettings?.maxConcurrentStreams ?? streamsMaxUsual
    },
    get isClosed() {
      return session.closed || session.destroyed
    },
    request: (fields, isEnded) => {
      const raw = [...fields]
      const stream = session.request(raw, isEnded ? { endStream: true } : { waitForTrailers: true })
      return new ClientStream(stream, !isEnded)
    },
    close: () => session.close(),
    destroy: () => session.destroy(),
  }
}

/** In megabytes per connection. */
const sessionMemoryMax = 128

/** Until the server has sent its settings. */
const streamsMaxUsual = 100

class ClientStream extends NodeHttp2Stream<ClientHttp2Stream> {
  protected readonly waitsForTrailers: boolean

  constructor(stream: ClientHttp2Stream, waitsForTrailers: boolean) {
    super(stream)
    this.waitsForTrailers = waitsForTrailers
  }

  override listen(events: Http2StreamEvents): void {
    const onHead = (_headers: unknown, _flags: number, rawHeaders: readonly string[]): void => {
      events.onHead?.(rawHeaders)
    }
    this.stream.on('headers', onHead)
    this.stream.on('response', onHead)
    super.listen(events)
  }

  respond(): void {
    throw new Error('only a server responds')
  }

  inform(): void {
    throw new Error('only a server responds')
  }
}
