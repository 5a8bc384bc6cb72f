/**
 * An HTTP client for a server in the same process: requests become exchanges without sockets and
 * serialization, with the same backpressure. There is no authentication, which is up to the caller.
 */
import { duplexPair, PassThrough, type Duplex } from 'node:stream'
import {
  HttpClientError,
  readWholeBody,
  type HttpClient,
  type HttpClientRequest,
  type HttpClientResponse,
  type HttpUpgrade,
} from './http-client.ts'
import {
  HttpBodyError,
  type HijackedConnection,
  type HttpConnection,
  type HttpExchange,
  type HttpHeaders,
} from './http.ts'

/** `serve` must respond to or abort each exchange, and must not throw. */
export function inProcessHttp(serve: (exchange: HttpExchange) => void): HttpClient {
  return {
    request: request => {
      const { promise, resolve, reject } = Promise.withResolvers<HttpClientResponse>()
      serve(new InProcessExchange(request, { resolve, reject }))
      return promise
    },
    upgrade: request => {
      const { promise, resolve, reject } = Promise.withResolvers<HttpUpgrade>()
      serve(
        new InProcessExchange(request, {
          resolve: response => resolve({ type: 'refused', response }),
          reject,
          upgrade: resolve,
        }),
      )
      return promise
    },
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

interface Answer {
  readonly resolve: (response: HttpClientResponse) => void
  readonly reject: (error: unknown) => void
  readonly upgrade?: (upgrade: HttpUpgrade) => void
}

class InProcessExchange implements HttpExchange {
  readonly connection: HttpConnection = { address: '127.0.0.1', authenticated: () => undefined }
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly hijack?: () => HijackedConnection
  readonly #request: HttpClientRequest
  readonly #sent: HttpHeaders
  readonly #answer: Answer
  readonly #response = new PassThrough()

  constructor(request: HttpClientRequest, answer: Answer) {
    const { method, path, signal } = request
    this.#request = request
    this.#answer = answer
    this.#sent = { ...request.headers, ...(answer.upgrade && { connection: 'Upgrade' }) }
    this.method = method
    this.target = path
    this.headers = joined(this.#sent)
    const { upgrade } = answer
    if (upgrade !== undefined) this.hijack = () => this.#hijack(upgrade)
    // The reader of the body sees the error; without a listener it would crash the process.
    this.#response.on('error', () => undefined)
    const cancel = (): void => this.#fail(signal?.reason)
    signal?.addEventListener('abort', cancel, { once: true })
    this.onClose(() => signal?.removeEventListener('abort', cancel))
    if (signal?.aborted) cancel()
  }

  get closed(): boolean {
    return this.#response.destroyed
  }

  headerValues(name: string): readonly string[] {
    return [this.#sent[name] ?? []].flat()
  }

  onClose(callback: () => void): void {
    if (this.#response.closed) callback()
    else this.#response.once('close', callback)
  }

  async readBody(limitBytes: number): Promise<Uint8Array> {
    const bytes = await readWholeBody(this.#request.body)
    if (bytes.length > limitBytes) throw new HttpBodyError('too-large')
    return bytes
  }

  async *body(): AsyncGenerator<Uint8Array, void, undefined> {
    const { body = [] } = this.#request
    yield* body instanceof Uint8Array ? [body] : body
  }

  allowStall(): void {}

  respond(status: number, headers: HttpHeaders): void {
    const response = this.#response
    const discard = (): void => void response.destroy()
    this.#answer.resolve({ status, headers: joined(headers), body: response, discard })
  }

  write(pieces: readonly Uint8Array[], onSent?: () => void): boolean {
    for (const [index, piece] of pieces.entries()) {
      this.#response.write(piece, index === pieces.length - 1 ? () => onSent?.() : undefined)
    }
    return !this.#response.writableNeedDrain
  }

  drained(): Promise<void> {
    const response = this.#response
    return new Promise(resolve => {
      if (!response.writableNeedDrain || response.destroyed) return resolve()
      response.once('drain', resolve)
      response.once('close', resolve)
    })
  }

  end(pieces: readonly Uint8Array[] = []): void {
    for (const piece of pieces) this.#response.write(piece)
    this.#response.end()
  }

  abort(): void {
    this.#fail(interrupted())
  }

  #fail(error: unknown): void {
    this.#answer.reject(error)
    this.#response.destroy(error as Error)
  }

  /** The server sends its response as bytes on the connection. */
  #hijack(upgrade: (upgrade: HttpUpgrade) => void): HijackedConnection {
    const [client, server] = duplexPair()
    joinEnds(client, server)
    joinEnds(server, client)
    this.onClose(() => {
      if (!hasUpgraded) client.destroy()
    })
    let hasUpgraded = false
    readUpgrade(client).then(
      upgraded => {
        hasUpgraded = true
        this.#response.destroy()
        upgrade(upgraded)
      },
      (error: unknown) => this.#fail(error),
    )
    return { connection: server, head: new Uint8Array() }
  }
}

/** Destroying one end resets the other, as with sockets; an orderly end does not. */
function joinEnds(end: Duplex, other: Duplex): void {
  end.on('error', () => undefined)
  end.once('close', () => {
    if (!end.readableEnded || !end.writableFinished) other.destroy()
  })
}

async function readUpgrade(connection: Duplex): Promise<HttpUpgrade> {
  let head = Buffer.alloc(0)
  while (!head.includes(headEnd)) {
    const piece = connection.read() as Buffer | null
    if (piece !== null) head = Buffer.concat([head, piece])
    else if (connection.readableEnded || connection.destroyed) throw interrupted()
    else {
      await new Promise<void>(resolve => {
        connection.once('readable', resolve)
        connection.once('close', resolve)
      })
    }
  }
  const end = head.indexOf(headEnd)
  const [first = '', ...lines] = head.toString('latin1', 0, end).split('\r\n')
  const headers = lines.map(line => /^([^:]*): ?(.*)$/.exec(line) ?? [])
  return {
    type: 'upgraded',
    status: Number(first.split(' ')[1]),
    headers: Object.fromEntries(headers.map(([, name = '', value = '']) => [name.toLowerCase(), value])),
    connection,
    head: head.subarray(end + headEnd.length),
  }
}

const headEnd = '\r\n\r\n'

function interrupted(): HttpClientError {
  return new HttpClientError('interrupted', 'the server aborted the response', { sent: true })
}

function joined(headers: HttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : value.join(', '),
    ]),
  )
}
