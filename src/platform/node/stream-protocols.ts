import { X509Certificate } from 'node:crypto'
import { connect as connectTlsSocket, createSecureContext, createServer, type SecureContext } from 'node:tls'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type {
  NegotiatedConnection,
  CheckedCertificate,
  StreamProtocols,
  TlsAcceptor,
  TlsAcceptorOptions,
  TlsCertificate,
  TlsConnectOptions,
} from '../stream-protocols.ts'
import { connectHttp2 } from './stream-protocols/http2-client.ts'
import { serveHttp2 } from './stream-protocols/http2-server.ts'

export function nodeStreamProtocols(): StreamProtocols {
  return { acceptTls: options => new NodeTlsAcceptor(options), connectTls, serveHttp2, connectHttp2 }
}

class NodeTlsAcceptor implements TlsAcceptor {
  readonly #server
  /** Connections in their handshake, by client address and port. */
  readonly #pending = new Map<string, Duplex>()
  /** By host name; the empty name has the default. */
  #contexts: ReadonlyMap<string, SecureContext> = new Map()
  /** By PEM texts: contexts are expensive, so those of unchanged certificates are kept. */
  #made: ReadonlyMap<string, MadeContext> = new Map()

  constructor({ handshakeTimeoutMs, onConnection, onFailure }: TlsAcceptorOptions) {
    this.#server = createServer({
      ALPNProtocols: ['h2', 'http/1.1'],
      handshakeTimeout: handshakeTimeoutMs,
      minVersion: 'TLSv1.2',
      SNICallback: (name, done) => {
        const context = this.#contextFor(name.toLowerCase())
        if (context === undefined) done(new Error(`no certificate for ${name}`))
        else done(null, context)
      },
    })
    this.#server.on('secureConnection', socket => {
      const tcp = this.#takePending(socket)
      const connection = ignoringErrors(socket)
      onConnection({ connection, protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' }, tcp)
    })
    this.#server.on('tlsClientError', (_error, socket) => {
      const tcp = this.#takePending(socket)
      ignoringErrors(socket).destroy()
      tcp.destroy()
      onFailure(tcp)
    })
  }

  setCertificates(certificates: readonly TlsCertificate[]): readonly CheckedCertificate[] {
    const contexts = new Map<string, SecureContext>()
    const made = new Map<string, MadeContext>()
    const checked: CheckedCertificate[] = []
    let usual: { readonly cert?: string; readonly key?: string } = {}
    for (const certificate of certificates) {
      const { hostnames, cert, key } = certificate
      const text = `${cert}\n${key}`
      try {
        const known = made.get(text) ?? this.#made.get(text) ?? makeContext(cert, key)
        made.set(text, known)
        if (hostnames.length === 0 && !contexts.has('')) usual = { cert, key }
        for (const hostname of hostnames.length === 0 ? [''] : hostnames)
          if (!contexts.has(hostname)) contexts.set(hostname, known.context)
        checked.push({ certificate, expiresMs: known.expiresMs })
      } catch (error) {
        checked.push({ certificate, error: error instanceof Error ? error.message : String(error) })
      }
    }
    this.#contexts = contexts
    this.#made = made
    // For clients without SNI.
    this.#server.setSecureContext({ ...usual, minVersion: 'TLSv1.2' })
    return checked
  }

  accept(connection: Duplex): void {
    const origin = originOf(connection)
    this.#pending.set(origin, connection)
    connection.once('close', () => this.#pending.delete(origin))
    this.#server.emit('connection', connection)
  }

  #takePending(socket: Duplex): Duplex {
    const origin = originOf(socket)
    const tcp = this.#pending.get(origin) ?? socket
    this.#pending.delete(origin)
    return tcp
  }

  #contextFor(name: string): SecureContext | undefined {
    const exact = this.#contexts.get(name)
    if (exact !== undefined) return exact
    const dot = name.indexOf('.')
    return (dot > 0 ? this.#contexts.get(`*${name.slice(dot)}`) : undefined) ?? this.#contexts.get('')
  }
}

interface MadeContext {
  readonly context: SecureContext
  readonly expiresMs: number
}

/** Throws if the texts are not PEM, or do not belong together. */
function makeContext(cert: string, key: string): MadeContext {
  const context = createSecureContext({ cert, key, minVersion: 'TLSv1.2' })
  return { context, expiresMs: Date.parse(new X509Certificate(cert).validTo) }
}

/** A connection that is closed already has no address. */
function originOf(connection: Duplex): string {
  const { remoteAddress, remotePort } = connection as Socket
  return `${remoteAddress} ${remotePort}`
}

function connectTls(connection: Duplex, options: TlsConnectOptions): Promise<NegotiatedConnection> {
  const { serverName, ca, protocols } = options
  return new Promise((resolve, reject) => {
    const socket = connectTlsSocket({
      socket: connection,
      ALPNProtocols: [...protocols],
      rejectUnauthorized: ca !== undefined,
      minVersion: 'TLSv1.2',
      ...(ca !== undefined && { ca }),
      ...(serverName !== undefined && { servername: serverName }),
    })
    socket.once('secureConnect', () => {
      resolve({ connection: socket, protocol: socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1' })
    })
    socket.on('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed during the TLS handshake')))
  })
}

function ignoringErrors<S extends Duplex>(socket: S): S {
  return socket.on('error', () => undefined)
}
