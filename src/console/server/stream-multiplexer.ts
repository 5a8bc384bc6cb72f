import { offAbort, onAbort } from '#/base/abort.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Platform } from '#/platform/platform.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { serveWebSocket } from '#/streams/web-socket-server.ts'
import type { WebSocket } from '#/streams/web-socket.ts'
import type { ConsoleCluster } from '../console-server.ts'
import { refuse } from './answers.ts'
import { isApiServerPath } from './forward-to-api-server.ts'
import type { Session } from './sessions.ts'

const streamsProtocol = 'streams.console.k8ts.io'

const messageBytesMax = 64 * 1024
/** Open streams of a page. */
const streamsMax = 200
const heartbeat = { intervalMs: 30_000, timeoutMs: 90_000 }

export interface ServeStreamsOptions {
  readonly platform: Pick<Platform, 'clock'>
  readonly cluster: Pick<ConsoleCluster, 'transport'>
  readonly session: Session
  /** Marks the session as used. Undefined if it has ended. */
  readonly renew: () => Session | undefined
}

/**
 * `GET /streams` as WebSocket: any number of streaming GET requests over one connection. Browsers open at most six
 * HTTP/1.1 connections to a server, and each watch would occupy one. docs/console.md has the messages.
 */
export async function serveStreams(exchange: HttpExchange, options: ServeStreamsOptions): Promise<void> {
  if (exchange.headers['upgrade'] === undefined) {
    return refuse(exchange, { reason: 'BadRequest', message: 'streams need a WebSocket' })
  }
  const socket = serveWebSocket(exchange, {
    protocols: [streamsProtocol],
    heartbeat: { clock: options.platform.clock, ...heartbeat },
  })
  if (socket === undefined) return
  const ended = options.session.signal
  const close = (): void => socket.destroy()
  onAbort(ended, close)
  try {
    await new StreamMultiplexer(socket, options).run()
  } catch {
    // The page is gone, or has violated the protocol and been told so.
  } finally {
    offAbort(ended, close)
    socket.destroy()
  }
}

type PageMessage =
  | { readonly type: 'open'; readonly id: number; readonly path: string; readonly accept: string }
  | { readonly type: 'close'; readonly id: number }

class StreamMultiplexer {
  readonly #socket: WebSocket
  readonly #options: ServeStreamsOptions
  readonly #open = new Map<number, AbortController>()

  constructor(socket: WebSocket, options: ServeStreamsOptions) {
    this.#socket = socket
    this.#options = options
  }

  async run(): Promise<void> {
    try {
      for await (const message of textMessages(this.#socket)) this.#receive(parsePageMessage(message))
    } finally {
      for (const each of this.#open.values()) each.abort(new Error('the page is gone'))
    }
  }

  #receive(message: PageMessage | undefined): void {
    if (message === undefined) return void this.#socket.close(1008, 'invalid message')
    const { id } = message
    if (message.type === 'close') {
      this.#open.get(id)?.abort(new Error('closed by the page'))
      return
    }
    if (this.#options.renew() === undefined) return this.#socket.destroy()
    if (this.#open.has(id)) return void this.#socket.close(1008, `stream ${id} is open`)
    if (this.#open.size >= streamsMax) return void this.#send({ id, end: true, error: 'too many streams' })
    const closed = new AbortController()
    this.#open.set(id, closed)
    void this.#forward(message, closed.signal).finally(() => this.#open.delete(id))
  }

  /** Never rejects. */
  async #forward(
    { id, path, accept }: PageMessage & { readonly type: 'open' },
    signal: AbortSignal,
  ): Promise<void> {
    const { transport } = this.#options.cluster
    try {
      const { status, body } = await transport.forward({ method: 'GET', path, headers: { accept }, signal })
      await this.#send({ id, status })
      const decoder = new TextDecoder()
      for await (const piece of body) {
        const data = decoder.decode(piece, { stream: true })
        if (data !== '') await this.#send({ id, data })
      }
      await this.#send({ id, end: true })
    } catch (error) {
      await this.#send({ id, end: true, ...(!signal.aborted && { error: messageOf(error) }) })
    }
  }

  /** Resolves when the page has room for more. */
  #send(message: object): Promise<void> {
    return this.#socket.send([Buffer.from(JSON.stringify(message))], { isText: true })
  }
}

async function* textMessages(socket: WebSocket): AsyncGenerator<string, void, undefined> {
  let pieces: Uint8Array[] = []
  let sizeBytes = 0
  for await (const { bytes, isLast } of socket.pieces()) {
    pieces.push(bytes)
    sizeBytes += bytes.length
    if (sizeBytes > messageBytesMax) return void socket.close(1009, 'message too large')
    if (!isLast) continue
    yield Buffer.concat(pieces).toString()
    pieces = []
    sizeBytes = 0
  }
}

function parsePageMessage(text: string): PageMessage | undefined {
  try {
    const { open, close, path, accept } = JSON.parse(text) as Readonly<Record<string, unknown>>
    if (isId(close)) return { type: 'close', id: close }
    if (!isId(open) || typeof path !== 'string' || !isApiServerPath(path)) return undefined
    const isMediaType = typeof accept === 'string' && /^[\x20-\x7e]{1,1000}$/.test(accept)
    return { type: 'open', id: open, path, accept: isMediaType ? accept : 'application/json' }
  } catch {
    return undefined
  }
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value)
}
