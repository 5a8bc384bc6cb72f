/**
 * Sends requests over one HTTP/2 connection with the administrator's certificate, for requests that no
 * standard client sends.
 */
import { readFile } from 'node:fs/promises'
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { buffer } from 'node:stream/consumers'
import { parse } from 'yaml'
import type { ChildCluster } from './cluster.ts'

export interface Request {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

export interface OpenAnswer extends Omit<Answer, 'body'> {
  readonly stream: ClientHttp2Stream
}

export class Http2Client implements AsyncDisposable {
  readonly #session: ClientHttp2Session

  private constructor(session: ClientHttp2Session) {
    this.#session = session
  }

  static async connect(cluster: ChildCluster): Promise<Http2Client> {
    const kubeconfig = parse(await readFile(cluster.kubeconfig, 'utf8')) as Kubeconfig
    const { server, 'certificate-authority-data': ca } = kubeconfig.clusters[0]!.cluster
    const { 'client-certificate-data': cert, 'client-key-data': key } = kubeconfig.users[0]!.user
    const decoded = (text: string): Buffer => Buffer.from(text, 'base64')
    return new Http2Client(connect(server, { ca: decoded(ca), cert: decoded(cert), key: decoded(key) }))
  }

  async send(request: Request): Promise<Answer> {
    const { stream, status, type } = await this.open(request)
    return { status, type, body: await buffer(stream) }
  }

  /** A response with a body that is read as it arrives. */
  async open({ method = 'GET', path, headers = {}, body = '' }: Request): Promise<OpenAnswer> {
    const endStream = body.length === 0
    const stream = this.#session.request({ ':method': method, ':path': path, ...headers }, { endStream })
    if (!endStream) stream.end(body)
    const { promise, resolve, reject } = Promise.withResolvers<OpenAnswer>()
    stream.once('response', answer => {
      resolve({ status: answer[':status']!, type: String(answer['content-type']), stream })
    })
    stream.once('error', reject)
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Promise<void>(resolve => this.#session.close(resolve))
  }
}

interface Kubeconfig {
  readonly clusters: readonly { readonly cluster: Record<'server' | 'certificate-authority-data', string> }[]
  readonly users: readonly { readonly user: Record<'client-certificate-data' | 'client-key-data', string> }[]
}
