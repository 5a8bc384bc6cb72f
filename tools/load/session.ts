/** An HTTP/2 connection to the API server. */
import { connect, type ClientHttp2Session } from 'node:http2'
import { text } from 'node:stream/consumers'
import type { Target } from '../../bench/api/load.ts'

export interface Answer {
  /** 0 if the request was cut. */
  readonly status: number
  readonly ms: number
  readonly bytes: number
}

export interface Request {
  readonly method?: string
  readonly path: string
  readonly accept?: string
  readonly body?: string
}

export class Session implements Disposable {
  readonly #session: ClientHttp2Session

  /** Without a certificate in the target the user is anonymous. */
  constructor({ port, ...tls }: Target) {
    this.#session = connect(`https://127.0.0.1:${port}`, { ...tls, maxSessionMemory: sessionMemoryMb })
    this.#session.on('error', () => undefined)
  }

  ask({ method = 'GET', path, accept = 'application/json', body }: Request): Promise<Answer> {
    const startedMs = performance.now()
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/json' }
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const stream = this.#session.request({ ':method': method, ':path': path, accept, ...length, ...type })
    let [status, bytes, isWhole] = [0, 0, false]
    stream.on('response', headers => {
      status = headers[':status'] ?? 0
    })
    stream.on('data', (piece: Buffer) => {
      bytes += piece.length
    })
    stream.on('end', () => {
      isWhole = stream.rstCode === 0
    })
    stream.on('error', () => undefined)
    stream.on('close', () =>
      resolve({ status: isWhole ? status : 0, ms: performance.now() - startedMs, bytes }),
    )
    stream.end(body)
    return promise
  }

  /** Body of a GET. */
  text(path: string): Promise<string> {
    return text(this.#session.request({ ':path': path }))
  }

  [Symbol.dispose](): void {
    this.#session.destroy()
  }
}

/** Node's default is less than the large requests of an attack. */
const sessionMemoryMb = 4_000
