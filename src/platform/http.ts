/**
 * An HTTPS server with HTTP/2 and HTTP/1.1 on one port, hardened against hostile clients. Every limit has a
 * name; a client that exceeds one is rejected and counted without affecting the other clients. Requests are
 * not interpreted here.
 */
import type { Duplex } from 'node:stream'
import type { SocketAddress } from './platform.ts'

/** Starts a server. Rejects when the address is in use or the certificate is invalid. */
export type ServeHttp = (options: HttpServerOptions) => Promise<HttpServer>

export interface HttpServerOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  readonly tls: HttpTls
  readonly limits?: Partial<HttpLimits>
  /**
   * Called for each request after its headers have arrived; must respond to or abort it, and must not throw.
   */
  readonly onExchange: (exchange: HttpExchange) => void
  readonly onRejected?: (reason: HttpRejection) => void
}

/** PEM. */
export interface HttpTls {
  readonly cert: string
  readonly key: string
  /** CA certificates that verify client certificates. Client certificates are optional. */
  readonly clientCa: string
}

export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number }
  readonly connectionCount: number
  /**
   * Applies to new connections. If the client CA changes, connections with a client certificate are closed
   * after their pending requests.
   */
  setTls(tls: HttpTls): void
  /**
   * Stops accepting connections and closes the open ones after their pending requests; after `graceMs` they
   * are destroyed. Resolves when no connection is left.
   */
  stop(graceMs: number): Promise<void>
}

/** Starts a server without TLS for clients of this machine, which are trusted not to exhaust it. */
export type ServeLocalHttp = (options: LocalHttpOptions) => Promise<LocalHttpServer>

export interface LocalHttpOptions {
  /** Only this user can connect to a unix socket. */
  readonly address: SocketAddress
  /** As in `HttpServerOptions`. */
  readonly onExchange: (exchange: HttpExchange) => void
}

export interface LocalHttpServer extends AsyncDisposable {
  readonly address: SocketAddress
}

/** The client side of a connection. One object per connection. */
export interface HttpConnection {
  readonly address: string
  /** Verified client certificate. */
  readonly certificate?: ClientCertificate
  /** Reason why the client certificate was not accepted. */
  readonly certificateError?: string
  /** The client of the connection is authenticated, which protects it from being displaced by others. */
  authenticated(): void
}

export interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly expiresMs: number
  /** DER: the certificate and its issuers, as far as known. */
  readonly chain: readonly Uint8Array[]
}

/** A request and its response: `respond`, any number of `write`, then `end`; or `abort` at any time. */
export interface HttpExchange {
  readonly connection: HttpConnection
  readonly method: string
  /** The request target including the query, as sent. */
  readonly target: string
  /** Lower-case names; repeated headers are joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The values of a repeated header, one by one. */
  headerValues(name: string): readonly string[]
  /** True once the response is sent or the client is gone. */
  readonly closed: boolean
  /** Calls back when the exchange is closed; immediately if it already is. */
  onClose(callback: () => void): void
  /** Reads the whole body; at most one call. Rejects with HttpBodyError. */
  readBody(limitBytes: number): Promise<Uint8Array>
  /**
   * Streams the body with backpressure, instead of `readBody`; at most one call. The body timeout applies to
   * each piece. Throws HttpBodyError.
   */
  body(): AsyncIterable<Uint8Array>
  /** Overrides the server's `stallTimeoutMs` for this response. */
  allowStall(timeoutMs: number): void
  respond(status: number, headers: HttpHeaders): void
  /**
   * Returns false when the send buffer is full; wait for `drained` then. Pieces are retained until sent, not
   * copied. `onSent` is called when they are no longer used, unless sending them fails.
   */
  write(pieces: readonly Uint8Array[], onSent?: () => void): boolean
  /** Resolves when the send buffer has room, or when the exchange is closed. */
  drained(): Promise<void>
  end(pieces?: readonly Uint8Array[]): void
  /** Cancels the response; the client sees that it is incomplete. */
  abort(): void
  /** Present for an upgrade request: hands over the raw connection instead of a response. */
  readonly hijack?: () => HijackedConnection
}

export type HttpHeaders = Readonly<Record<string, string | readonly string[]>>

export interface HijackedConnection {
  readonly connection: Duplex
  /** Bytes already received from the client. */
  readonly head: Uint8Array
}

export type HttpBodyErrorReason = 'too-large' | 'too-slow' | 'aborted'

export class HttpBodyError extends Error {
  readonly reason: HttpBodyErrorReason
  constructor(reason: HttpBodyErrorReason) {
    super(`the body of a request is ${reason}`)
    this.name = 'HttpBodyError'
    this.reason = reason
  }
}

export type HttpRejection =
  /** No TLS, a TLS version that is too old, or a handshake timeout. */
  | 'tls'
  /** Not valid HTTP. */
  | 'malformed'
  /** Headers are too large or too many. */
  | 'headers'
  /** Timeout for headers or body. */
  | 'slow-request'
  /** Timeout for reading the response. */
  | 'slow-reader'
  /** Too many resets, PING or SETTINGS frames, or pipelined requests. */
  | 'flood'
  /** A connection limit is reached: the new connection or an older one was closed. */
  | 'connections'

export interface HttpLimits {
  /** Connections of clients that are not authenticated, see `ConnectionPool`. */
  readonly pendingConnectionsMax: number
  /** Connections of authenticated clients. */
  readonly connectionsMax: number
  /** Maximum concurrent streams of an HTTP/2 connection; further ones are refused and may be retried. */
  readonly streamsMax: number
  /** Maximum pipelined requests of an HTTP/1.1 connection; exceeding it closes the connection. */
  readonly pipelinedMax: number
  readonly headerBytesMax: number
  readonly headersMax: number
  /** Applies to the TLS handshake, and again to the headers of the first request. */
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  /** Timeout for a connection without a request. */
  readonly idleTimeoutMs: number
  /** A response of which the client reads nothing for this long is aborted. */
  readonly stallTimeoutMs: number
  /** Rate limit for streams reset by the client; exceeding it closes the connection. */
  readonly resetsBurst: number
  readonly resetsPerSecond: number
  /** Rate limit for PING and SETTINGS frames; exceeding it closes the connection. */
  readonly controlFramesBurst: number
  readonly controlFramesPerSecond: number
}

/**
 * The limits of kube-apiserver where it has one, except that headers are limited to less than its megabyte.
 */
export const defaultHttpLimits: HttpLimits = {
  pendingConnectionsMax: 4_000,
  connectionsMax: 10_000,
  streamsMax: 250,
  pipelinedMax: 100,
  headerBytesMax: 128 * 1024,
  headersMax: 500,
  headerTimeoutMs: 32_000,
  bodyTimeoutMs: 60_000,
  idleTimeoutMs: 90_000,
  stallTimeoutMs: 60_000,
  resetsBurst: 1_000,
  resetsPerSecond: 50,
  controlFramesBurst: 1_000,
  controlFramesPerSecond: 20,
}
