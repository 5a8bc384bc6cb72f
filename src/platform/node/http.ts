import { constants as cryptoConstants } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import {
  defaultHttpLimits,
  type HttpExchange,
  type HttpLimits,
  type HttpRejection,
  type HttpServer,
  type HttpServerOptions,
  type HttpTls,
} from '../http.ts'
import { ConnectionPool } from '#/base/connection-pool.ts'
import { http } from './builtin-http.ts'
import { ClientCertificates } from './http/client-certificates.ts'
import { Connection, type Transport } from './http/connection.ts'
import { ignoringErrors } from './http/exchange.ts'
import { HandshakeQueue } from './http/handshake-queue.ts'
import { Http1Exchange } from './http/http1-exchange.ts'
import { Http2Exchange } from './http/http2-exchange.ts'

export async function serveHttp(options: HttpServerOptions): Promise<HttpServer> {
  const server = new NodeHttpServer(options)
  await server.listen(options.host, options.port)
  return server
}

class NodeHttpServer implements HttpServer {
  readonly #limits: HttpLimits
  readonly #onExchange: (exchange: HttpExchange) => void
  readonly #onRejected: (reason: HttpRejection) => void
  readonly #server: Http2SecureServer
  /** Connections of clients that are not authenticated, which cannot displace those of `#established`. */
  readonly #pending: ConnectionPool<Socket>
  readonly #established: ConnectionPool<Socket>
  /** TCP sockets, from accept on, by client address and port. */
  readonly #sockets = new Map<string, Socket>()
  /** The sockets with an unfinished TLS handshake. */
  readonly #handshakes = new Set<Socket>()
  /** Those of them from which nothing has arrived, with the time of their arrival; oldest first. */
  readonly #silent = new Map<Socket, number>()
  readonly #connections = new Set<Connection>()
  readonly #certificates = new ClientCertificates()
  /** By HTTP/2 session, HTTP/1.1 socket or TCP socket. */
  readonly #byOrigin = new WeakMap<object, Connection>()
  #clientCa: string
  #sweeping: NodeJS.Timeout | undefined
  #stopped: Promise<void> | undefined

  constructor({ tls, limits, onExchange, onRejected = () => undefined }: HttpServerOptions) {
    this.#limits = { ...defaultHttpLimits, ...limits }
    this.#onExchange = onExchange
    this.#onRejected = onRejected
    this.#clientCa = tls.clientCa
    this.#pending = new ConnectionPool(this.#limits.pendingConnectionsMax)
    this.#established = new ConnectionPool(this.#limits.connectionsMax)
    this.#server = createSecureServer({ ...secureOptions(tls), ...protocolOptions(this.#limits) })
    // The only way to limit headers of HTTP/1.1; Node's types have it for HTTP/1.1 servers only.
    Object.assign(this.#server, { maxHeadersCount: this.#limits.headersMax + 1 })
    this.#attend(this.#server)
  }

  get address(): { readonly host: string; readonly port: number } {
    const { address, port } = this.#server.address() as AddressInfo
    return { host: address, port }
  }

  get connectionCount(): number {
    return this.#sockets.size
  }

  async listen(host: string, port: number): Promise<void> {
    this.#server.listen({ host, port })
    await once(this.#server, 'listening')
    // After listening, errors concern only connections that are being accepted.
    this.#server.on('error', () => undefined)
    const { headerTimeoutMs, idleTimeoutMs, stallTimeoutMs } = this.#limits
    const everyMs = Math.min(headerTimeoutMs, idleTimeoutMs, stallTimeoutMs) / sweepsPerTimeout
    this.#sweeping = setInterval(() => this.#sweep(), everyMs).unref()
  }

  setTls(tls: HttpTls): void {
    this.#server.setSecureContext(secureOptions(tls))
    if (tls.clientCa === this.#clientCa) return
    this.#clientCa = tls.clientCa
    for (const connection of this.#connections) {
      if (connection.certificate !== undefined) connection.close()
    }
  }

  stop(graceMs: number): Promise<void> {
    this.#stopped ??= this.#stop()
    const timeout = setTimeout(() => this.#destroyAll(), graceMs)
    return this.#stopped.finally(() => clearTimeout(timeout))
  }

  async #stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const connection of this.#connections) connection.close()
    for (const socket of this.#handshakes) socket.destroy()
    await closed
    clearInterval(this.#sweeping)
  }

  #destroyAll(): void {
    for (const connection of this.#connections) connection.destroy()
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #sweep(): void {
    const nowMs = performance.now()
    for (const connection of this.#connections) connection.sweep(nowMs)
    for (const [socket, sinceMs] of this.#silent) {
      if (nowMs - sinceMs < this.#limits.headerTimeoutMs) break
      this.#onRejected('tls')
      socket.destroy()
    }
  }

  #attend(server: Http2SecureServer): void {
    // The listeners of Node start TLS, which is expensive: refused and silent connections must not cost it.
    const startTls = server.listeners('connection') as ((socket: Socket) => void)[]
    const handshakes = new HandshakeQueue(socket => {
      for (const start of startTls) start.call(server, socket)
    })
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      if (!this.#isAccepted(socket)) return
      socket.once('readable', () => {
        this.#silent.delete(socket)
        // Nothing to read means that the client has closed the connection.
        if (socket.readableLength === 0) socket.destroy()
        else handshakes.add(socket)
      })
    })
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#handshakes.delete(this.#sockets.get(originOf(socket))!)
      if (socket.alpnProtocol !== 'h2') this.#onHttp1Socket(socket)
    })
    server.on('tlsClientError', (_error: Error, socket: TLSSocket) => {
      this.#onRejected('tls')
      ignoringErrors(socket).destroy()
    })
    server.on('session', (session: ServerHttp2Session) => this.#onSession(session))
    server.on('sessionError', () => this.#onRejected('malformed'))
    server.on('clientError', (error: ClientError, socket: Duplex) => this.#onClientError(error, socket))
    server.on('unknownProtocol', (socket: TLSSocket) => {
      this.#onRejected('malformed')
      socket.destroy()
    })
    this.#attendHttp1(server)
    // A `request` listener makes Node emulate HTTP/1.1 requests for HTTP/2 streams; streams are handled
    // directly here.
    server.removeAllListeners('stream')
    server.on('stream', (stream: ServerHttp2Stream, headers, _flags, rawHeaders: readonly string[]) => {
      const connection = this.#byOrigin.get(stream.session!)
      if (connection === undefined || headers[':method'] === 'CONNECT') return stream.close()
      const exchange = new Http2Exchange({
        connection,
        headers,
        rawHeaders,
        incoming: stream,
        outgoing: stream,
      })
      const { headerBytesMax, headersMax } = this.#limits
      const isWithin = sizeOf(rawHeaders) <= headerBytesMax && rawHeaders.length / 2 <= headersMax
      if (isWithin) return this.#onExchange(exchange)
      this.#onRejected('headers')
      exchange.respond(431, {})
      exchange.end()
    })
  }

  #isAccepted(socket: Socket): boolean {
    if (!this.#isAdded(socket, this.#pending)) return false
    const origin = originOf(socket)
    this.#sockets.set(origin, ignoringErrors(socket))
    this.#handshakes.add(socket)
    this.#silent.set(socket, performance.now())
    socket.once('close', () => {
      this.#silent.delete(socket)
      if (this.#sockets.get(origin) === socket) this.#sockets.delete(origin)
      this.#handshakes.delete(socket)
      this.#pending.delete(socket)
      this.#established.delete(socket)
    })
    return true
  }

  /** Closes a connection of the pool, or this one, if the pool is full. */
  #isAdded(socket: Socket, pool: ConnectionPool<Socket>): boolean {
    const closed = pool.add(socket, { address: socket.remoteAddress ?? '', nowMs: performance.now() })
    if (closed === undefined) return true
    this.#onRejected('connections')
    const connection = this.#byOrigin.get(closed)
    if (connection === undefined) closed.destroy()
    else connection.destroy()
    return closed !== socket
  }

  #establish(socket: Socket): void {
    if (socket.destroyed) return
    this.#pending.delete(socket)
    this.#isAdded(socket, this.#established)
  }

  #attendHttp1(server: Http2SecureServer): void {
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      const connection = this.#byOrigin.get(request.socket)!
      if (connection.openCount >= this.#limits.pipelinedMax) return connection.reject('flood')
      if (request.rawHeaders.length / 2 > this.#limits.headersMax) {
        this.#onRejected('headers')
        response.writeHead(431, { connection: 'close' }).end()
        return
      }
      const { headers } = request
      this.#onExchange(new Http1Exchange({ connection, headers, incoming: request, outgoing: response }))
    }
    server.on('request', onRequest as never)
    server.on('checkContinue', onRequest as never)
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Uint8Array) => {
      const connection = this.#byOrigin.get(request.socket)!
      const response = new http.ServerResponse(request)
      response.shouldKeepAlive = false
      response.assignSocket(request.socket)
      response.once('finish', () => request.socket.destroySoon())
      ignoringErrors(request.socket)
      const upgrade = { connection: ignoringErrors(socket), head }
      const { headers } = request
      const incoming = request
      this.#onExchange(new Http1Exchange({ connection, headers, incoming, outgoing: response, upgrade }))
    })
  }

  #onSession(session: ServerHttp2Session): void {
    const connection = this.#connect(session.socket as TLSSocket, {
      close: () => session.close(),
      destroy: () => session.destroy(),
    })
    connection.awaitSettings()
    session.once('localSettings', () => connection.settled())
    this.#byOrigin.set(session, connection)
    session.once('close', () => this.#connections.delete(connection))
    session.setLocalWindowSize(connectionWindowBytes)
    session.on('ping', () => connection.countControlFrame())
    session.on('remoteSettings', () => connection.countControlFrame())
  }

  #onHttp1Socket(socket: TLSSocket): void {
    const connection = this.#connect(socket, {
      close: () => {
        if (connection.openCount === 0) socket.destroySoon()
      },
      destroy: () => socket.destroy(),
    })
    this.#byOrigin.set(socket, connection)
    socket.once('close', () => this.#connections.delete(connection))
  }

  #connect(socket: TLSSocket, transport: Transport): Connection {
    const tcpSocket = this.#sockets.get(originOf(socket))
    const connection = new Connection({
      address: socket.remoteAddress ?? '',
      ...this.#certificates.check(socket),
      limits: this.#limits,
      transport,
      onRejected: this.#onRejected,
      onAuthenticated: () => tcpSocket && this.#establish(tcpSocket),
    })
    this.#connections.add(connection)
    if (tcpSocket) this.#byOrigin.set(tcpSocket, connection)
    if (connection.certificate !== undefined) connection.authenticated()
    return connection
  }

  /** Malformed HTTP/1.1, or the client disconnected. */
  #onClientError(error: ClientError, socket: Duplex): void {
    const answer = answers.get(error.code ?? '') ?? (error.code?.startsWith('HPE_') ? malformed : undefined)
    const isAnswering = (this.#byOrigin.get(socket)?.openCount ?? 0) > 0
    if (answer === undefined || isAnswering || !socket.writable) return void ignoringErrors(socket).destroy()
    this.#onRejected(answer.reason)
    const head = `HTTP/1.1 ${answer.status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
    ignoringErrors(socket).end(head, () => socket.destroy())
  }
}

function originOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`
}

function sizeOf(rawHeaders: readonly string[]): number {
  let characters = 0
  for (const text of rawHeaders) characters += text.length
  return characters
}

type ClientError = Error & { readonly code?: string }

interface ClientErrorAnswer {
  readonly status: string
  readonly reason: HttpRejection
}

const malformed: ClientErrorAnswer = { status: '400 Bad Request', reason: 'malformed' }

const answers: ReadonlyMap<string, ClientErrorAnswer> = new Map([
  ['HPE_HEADER_OVERFLOW', { status: '431 Request Header Fields Too Large', reason: 'headers' }],
  ['ERR_HTTP_REQUEST_TIMEOUT', { status: '408 Request Timeout', reason: 'slow-request' }],
])

/** Resolution of timeouts: sweeps during the shortest of them. */
const sweepsPerTimeout = 8

/** Receive window of a connection. A slow request cannot exhaust it, since each stream has its own window. */
const connectionWindowBytes = 1024 * 1024

/** Receive window of a stream: large enough for nearly every request body. */
const streamWindowBytes = 256 * 1024

/**
 * In megabytes per connection, including unsent responses. Beyond it new requests on the connection are
 * refused.
 */
const sessionMemoryMax = 128

/** Node resets a stream with larger headers; smaller ones that exceed the limits are answered with 431. */
const headerLeniency = 2

function protocolOptions(limits: HttpLimits) {
  return {
    allowHTTP1: true,
    handshakeTimeout: limits.headerTimeoutMs,
    // TCP keepalive detects dead peers.
    keepAlive: true,
    keepAliveInitialDelay: 15_000,
    noDelay: true,
    settings: {
      maxConcurrentStreams: limits.streamsMax,
      initialWindowSize: streamWindowBytes,
      maxHeaderListSize: limits.headerBytesMax * headerLeniency,
    },
    maxHeaderListPairs: limits.headersMax * headerLeniency,
    maxSessionMemory: sessionMemoryMax,
    streamResetBurst: limits.resetsBurst,
    streamResetRate: limits.resetsPerSecond,
    http1Options: {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headerTimeoutMs,
      // Body timeouts are enforced where the body is read; a proxied body may take longer.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.ceil(limits.headerTimeoutMs / sweepsPerTimeout),
      keepAliveTimeout: limits.idleTimeoutMs,
    },
  }
}

function secureOptions({ cert, key, clientCa }: HttpTls) {
  return {
    cert,
    key,
    ca: clientCa,
    minVersion: 'TLSv1.2',
    requestCert: true,
    rejectUnauthorized: false,
    // A resumed session would keep a verification by client CAs that have been replaced. HTTP/2 forbids
    // renegotiation.
    secureOptions: cryptoConstants.SSL_OP_NO_TICKET | cryptoConstants.SSL_OP_NO_RENEGOTIATION,
  } as const
}
