import { ApiError, apiErrorOfBody } from './api-error.ts'
import { bearerProtocol, requestConsole, withoutIndentation } from './api-request.ts'
import { session } from './session.ts'

const streamsPath = '/streams'
const streamsProtocol = 'streams.console.k8ts.io'
/** Characters of an error body that are read. */
const errorBodyMax = 10_000

export interface StreamOptions {
  readonly accept?: string
  readonly signal: AbortSignal
}

/**
 * Yields the text of a response as it arrives. Throws ApiError unless the request succeeds. All streams share one
 * WebSocket: browsers open at most six HTTP/1.1 connections to a server.
 */
export async function* streamApi(
  path: string,
  { accept = 'application/json', signal }: StreamOptions,
): AsyncGenerator<string, void, undefined> {
  signal.throwIfAborted()
  const shared = await openConnection()
  const stream = shared.open({ path: withoutIndentation(path), accept })
  const close = (): void => shared.close(stream)
  signal.addEventListener('abort', close)
  try {
    const status = await stream.status
    if (status !== 200) throw apiErrorOfBody(status, await readText(stream))
    yield* stream.texts()
  } finally {
    signal.removeEventListener('abort', close)
    close()
  }
}

async function readText(stream: Stream): Promise<string> {
  let text = ''
  for await (const piece of stream.texts()) {
    text += piece
    if (text.length > errorBodyMax) break
  }
  return text
}

let connection: Promise<StreamConnection> | undefined

async function openConnection(): Promise<StreamConnection> {
  connection ??= StreamConnection.open(() => {
    connection = undefined
  })
  return connection
}

/** A message of the server: first the status of a stream, then its text, then its end. */
interface StreamMessage {
  readonly id: number
  readonly status?: number
  readonly data?: string
  readonly end?: boolean
  readonly error?: string
}

class StreamConnection {
  readonly #socket: WebSocket
  readonly #streams = new Map<number, Stream>()
  #lastId = 0

  /** Rejects if the server cannot be reached or the session has ended. */
  static async open(whenClosed: () => void): Promise<StreamConnection> {
    const url = new URL(streamsPath, location.href)
    url.protocol = url.protocol.replace('http', 'ws')
    const protocols = [streamsProtocol, bearerProtocol(session.peek()?.sessionToken ?? '')]
    const socket = new WebSocket(url, protocols)
    const opened = Promise.withResolvers<void>()
    socket.addEventListener('open', () => opened.resolve())
    socket.addEventListener('close', () => {
      whenClosed()
      opened.reject(new Error('The console is not reachable.'))
    })
    try {
      await opened.promise
    } catch (error) {
      // The handshake does not say why it failed; this request does, and ends a session that is no longer accepted.
      await requestConsole('/session')
      throw error
    }
    return new StreamConnection(socket)
  }

  constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => this.#receive(JSON.parse(String(data)) as StreamMessage))
    socket.addEventListener('close', () => {
      for (const stream of this.#streams.values())
        stream.fail(new Error('The connection to the console was lost.'))
      this.#streams.clear()
    })
  }

  open(request: { readonly path: string; readonly accept: string }): Stream {
    const stream = new Stream(++this.#lastId)
    this.#streams.set(stream.id, stream)
    if (this.#socket.readyState === WebSocket.OPEN) {
      this.#socket.send(JSON.stringify({ open: stream.id, ...request }))
    } else {
      stream.fail(new Error('The connection to the console was lost.'))
    }
    return stream
  }

  /** Messages that are still on the way to a closed stream are dropped. */
  close(stream: Stream): void {
    stream.end()
    if (!this.#streams.delete(stream.id) || this.#socket.readyState !== WebSocket.OPEN) return
    this.#socket.send(JSON.stringify({ close: stream.id }))
  }

  #receive({ id, status, data, end, error }: StreamMessage): void {
    const stream = this.#streams.get(id)
    if (stream === undefined) return
    if (status !== undefined) stream.begin(status)
    if (data !== undefined) stream.push(data)
    if (!end) return
    this.#streams.delete(id)
    if (error === undefined) stream.end()
    else stream.fail(new Error(error))
  }
}

/** One response. */
class Stream {
  readonly id: number
  readonly #status = Promise.withResolvers<number>()
  #texts: string[] = []
  #wake: (() => void) | undefined
  #ended = false
  #error: Error | undefined

  constructor(id: number) {
    this.id = id
    // A stream may be closed before its status is awaited.
    this.#status.promise.catch(() => undefined)
  }

  get status(): Promise<number> {
    return this.#status.promise
  }

  async *texts(): AsyncGenerator<string, void, undefined> {
    while (true) {
      const texts = this.#texts
      this.#texts = []
      yield* texts
      if (this.#texts.length > 0) continue
      if (this.#error) throw this.#error
      if (this.#ended) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }

  begin(status: number): void {
    this.#status.resolve(status)
  }

  push(text: string): void {
    this.#texts.push(text)
    this.#wake?.()
  }

  end(): void {
    this.#ended = true
    this.#status.reject(new ApiError({ status: 0, message: 'The stream was closed.' }))
    this.#wake?.()
  }

  fail(error: Error): void {
    this.#error ??= error
    this.#status.reject(error)
    this.#wake?.()
  }
}
