/** A client without any protocol checks: bytes, streams and sockets with the administrator's certificate. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { text } from 'node:stream/consumers'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { ChildCluster } from '../clients/cluster.ts'

export interface RawRequest {
  readonly method?: string
  readonly path: string
  /** The media type of the body. */
  readonly type?: string
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** The response to a request, or the reason why it was cut. */
export type Outcome = { readonly status: number; readonly text: string } | { readonly cut: string }

export interface Access {
  readonly port: number
  readonly tls: { readonly ca: string; readonly cert: string; readonly key: string }
}

export async function accessTo({ kubeconfig, port }: ChildCluster): Promise<Access> {
  const content = await readFile(kubeconfig, 'utf8')
  const pem = (name: string): string => {
    return Buffer.from(new RegExp(`${name}: (\\S+)`).exec(content)![1]!, 'base64').toString()
  }
  const [ca, cert] = [pem('certificate-authority-data'), pem('client-certificate-data')]
  return { port, tls: { ca, cert, key: pem('client-key-data') } }
}

/** An HTTP/2 connection. */
export class RawClient implements Disposable {
  readonly #session: ClientHttp2Session

  private constructor(session: ClientHttp2Session) {
    this.#session = session
    // Errors are reported by the requests.
    session.on('error', () => undefined)
  }

  static async open({ port, tls }: Access): Promise<RawClient> {
    // Without Node's own limits, so that the server's limits apply.
    const limits = { maxSendHeaderBlockLength: 10_000_000, maxSessionMemory: 10_000 }
    const client = new RawClient(connect(`https://127.0.0.1:${port}`, { ...tls, ...limits }))
    await once(client.#session, 'connect')
    return client
  }

  async ask(request: RawRequest): Promise<Outcome> {
    try {
      const stream = this.send(request)
      // The body may be rejected before all of it is sent; only the response matters.
      stream.on('error', () => undefined)
      const [headers] = await once(stream, 'response', { signal: AbortSignal.timeout(answerMsMax) })
      return { status: headers[':status'], text: await text(stream) }
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      return { cut: code ?? message }
    }
  }

  /** Sends a request and leaves the response unread. */
  send({ method = 'GET', path, type, body, headers = {} }: RawRequest): ClientHttp2Stream {
    const stream = this.#session.request(
      {
        ...headers,
        ':method': method,
        ':path': path,
        ...(type !== undefined && { 'content-type': type }),
      },
      { endStream: body === undefined },
    )
    if (body !== undefined) stream.end(body)
    return stream
  }

  [Symbol.dispose](): void {
    this.#session.destroy(undefined, constants.NGHTTP2_CANCEL)
  }
}

/** Longer than any response takes; a later response counts as none. */
const answerMsMax = 60_000

/** A TLS connection without HTTP. */
export async function openSocket({ port, tls }: Access): Promise<TLSSocket> {
  const socket = connectTls({ host: '127.0.0.1', port, ...tls, ALPNProtocols: ['http/1.1'] })
  socket.on('error', () => undefined)
  await once(socket, 'secureConnect')
  return socket
}
