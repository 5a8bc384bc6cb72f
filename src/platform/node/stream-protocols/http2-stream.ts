import { constants, type ClientHttp2Stream, type ServerHttp2Stream } from 'node:http2'
import type { Http2Stream, Http2StreamEvents } from '../../stream-protocols.ts'

/** The part that streams of servers and clients have in common. */
export abstract class NodeHttp2Stream<
  S extends ServerHttp2Stream | ClientHttp2Stream,
> implements Http2Stream {
  protected readonly stream: S
  #trailers: readonly string[] = []
  #hasEnded = false

  constructor(stream: S) {
    this.stream = stream
    // An error is followed by `close`; without a listener it would end the process.
    stream.on('error', () => undefined)
  }

  listen(events: Http2StreamEvents): void {
    const { stream } = this
    stream.on('data', (bytes: Uint8Array) => events.onData(bytes))
    stream.on('trailers', (_headers: unknown, _flags: number, rawHeaders: readonly string[]) => {
      this.#trailers = rawHeaders
    })
    stream.on('end', () => {
      this.#hasEnded = true
      // A reset ends the readable side, too.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) events.onEnd(this.#trailers)
    })
    stream.on('drain', () => events.onDrain())
    stream.once('close', () => {
      const code = stream.rstCode ?? constants.NGHTTP2_NO_ERROR
      events.onClose({ code, isRefused: code === constants.NGHTTP2_REFUSED_STREAM })
    })
    // Without data there is no `end` unless the stream is read.
    if (stream.readableEnded && !this.#hasEnded) events.onEnd(this.#trailers)
  }

  abstract respond(fields: readonly string[], isEnded: boolean): void
  abstract inform(fields: readonly string[]): void

  write(bytes: Uint8Array): boolean {
    if (this.stream.destroyed || this.stream.writableEnded) return true
    return this.stream.write(bytes)
  }

  end(trailers: readonly string[]): void {
    const { stream } = this
    if (stream.destroyed || stream.writableEnded) return
    // Without trailers Node ends the stream with an empty DATA frame.
    if (this.waitsForTrailers) stream.once('wantTrailers', () => this.#sendTrailers(trailers))
    stream.end()
  }

  /** True when `wantTrailers` is emitted and has to be answered. */
  protected abstract get waitsForTrailers(): boolean

  #sendTrailers(fields: readonly string[]): void {
    const trailers: Record<string, string | string[]> = {}
    for (let index = 0; index < fields.length; index += 2) {
      const name = fields[index]!
      const value = fields[index + 1]!
      const known = trailers[name]
      trailers[name] = known === undefined ? value : [known, value].flat()
    }
    try {
      this.stream.sendTrailers(trailers)
    } catch {
      this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    }
  }

  pause(): void {
    this.stream.pause()
  }

  resume(): void {
    this.stream.resume()
  }

  reset(code: number): void {
    this.stream.close(code)
  }
}
