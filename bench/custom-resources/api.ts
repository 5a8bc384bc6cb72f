/** Single requests to the measured API server, over one connection. */
import { connect, type ClientHttp2Session } from 'node:http2'
import type { Target } from '../api/load.ts'

export class Api implements Disposable {
  readonly #session: ClientHttp2Session

  constructor({ port, ca, cert, key }: Target) {
    this.#session = connect(`https://localhost:${port}`, { ca, cert, key })
  }

  [Symbol.dispose](): void {
    this.#session.close()
  }

  /** Returns the size of the body as it is sent. */
  async read(method: 'GET' | 'HEAD', { path, headers = {} }: Read): Promise<number> {
    const { status, sizeBytes } = await this.#request({ ':method': method, ':path': path, ...headers })
    if (status !== 200) throw new Error(`${method} ${path}: ${status}`)
    return sizeBytes
  }

  async post(path: string, object: object): Promise<void> {
    const { status } = await this.#request(
      { ':method': 'POST', ':path': path, 'content-type': 'application/json' },
      JSON.stringify(object),
    )
    if (status !== 201) throw new Error(`POST ${path}: ${status}`)
  }

  /** Polls until the path is served. */
  async waitFor(path: string): Promise<void> {
    while ((await this.#request({ ':path': path })).status !== 200);
  }

  async #request(headers: Readonly<Record<string, string>>, body?: string): Promise<Answer> {
    const stream = this.#session.request(headers)
    const { promise, resolve } = Promise.withResolvers<number>()
    let sizeBytes = 0
    stream.on('response', response => resolve(Number(response[':status'])))
    stream.on('data', (bytes: Buffer) => (sizeBytes += bytes.length))
    stream.end(body)
    const status = await promise
    if (!stream.readableEnded) await new Promise(done => stream.once('end', done))
    return { status, sizeBytes }
  }
}

export interface Read {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

interface Answer {
  readonly status: number
  readonly sizeBytes: number
}
