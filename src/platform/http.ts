/**
 * An HTTPS server: HTTP/2 and HTTP/1.1 on one port, made to stand before clients that mean harm. Every limit
 * has a name; a client that goes past one is refused and counted, and the others are served. What a request
 * means is not known here.
 */
import type { Duplex } from 'node:stream'

/** Starts a server. Rejects when the address is taken or the certificate cannot be used. */
export type ServeHttp = (options: HttpServerOptions) => Promise<HttpServer>

export interface HttpServerOptions {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly tls: HttpTls
  readonly limits?: Partial<HttpLimits>
  /** Gets each request once its headers are there, and must answer or abort it. It must not throw. */
  readonly onExchange: (exchange: HttpExchange) => void
  readonly onRejected?: (reason: HttpRejection) => void
}

/** PEM. */
export interface HttpTls {
  readonly cert: string
  readonly key: string
  /** Who signs the certificates of clients. A client need not have one. */
  readonly clientCa: string
}

export interface HttpServer {
  readonly address: { readonly host: string; readonly port: number }
  readonly connectionCount: number
  /**
   * For connections from now on. Those whose client certificate other authorities have verified are closed
   * once their requests are answered.
   */
  setTls(tls: HttpTls): void
  /**
   * Accepts no more connections and tells clients to go. Requests that are running may end; after the time
   * given they are cut off. Resolves when no connection is left.
   */
  stop(graceMs: number): Promise<void>
}

/** Who is at the other end. One object for each connection. */
export interface HttpConnection {
  readonly address: string
  /** Of a certificate that was verified when the connection was made. */
  readonly certificate?: ClientCertificate
  /** Why the certificate that the client has sent is none to trust. */
  readonly certificateError?: string
}

export interface ClientCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  readonly expiresMs: number
  /** DER: the certificate, then those that lead to its authority, as far as they are known. */
  readonly chain: readonly Uint8Array[]
}

/** A request and its answer: `respond`, any number of `write`, then `end`; or `abort` at any time. */
export interface HttpExchange {
  readonly connection: HttpConnection
  readonly method: string
  /** What the client asks for, with the query, as it was sent. */
  readonly target: string
  /** Names in lower case; a header that was sent several times is joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Each value of a header by itself. */
  headerValues(name: string): readonly string[]
  /** The answer is sent, or nobody will get it. */
  readonly closed: boolean
  /** Calls back once the exchange is closed; at once when it is. */
  onClose(callback: () => void): void
  /** The whole body, at most once. Rejects with HttpBodyError. */
  readBody(limitBytes: number): Promise<Uint8Array>
  /**
   * The body as it comes, instead of the whole, at most once. It is read no faster than it is iterated, and each
   * piece must come in the time a whole body has. Throws HttpBodyError.
   */
  body(): AsyncIterable<Uint8Array>
  /** The client may leave the answer unread for so long, instead of as long as others may. */
  allowStall(timeoutMs: number): void
  respond(status: number, headers: HttpHeaders): void
  /**
   * False when enough is waiting to be sent: `drained` says when to go on. Pieces are kept until they are
   * sent, not copied.
   */
  write(pieces: readonly Uint8Array[]): boolean
  /** Resolves when there is room for more, and when the exchange is closed. */
  drained(): Promise<void>
  end(pieces?: readonly Uint8Array[]): void
  /** Gives up: the client sees that the answer is not whole. */
  abort(): void
  /** There when the client asks for another protocol: instead of an answer, the connection as it is. */
  readonly takeOver?: () => TakenConnection
}

export type HttpHeaders = Readonly<Record<string, string | readonly string[]>>

export interface TakenConnection {
  readonly connection: Duplex
  /** What the client has sent already. */
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
  /** No TLS, a version that is too old, or a handshake that was not finished in time. */
  | 'tls'
  /** What was sent is no HTTP. */
  | 'malformed'
  /** Headers are too large or too many. */
  | 'headers'
  /** Headers or a body did not come in time. */
  | 'slow-request'
  /** Nothing of an answer was read in time. */
  | 'slow-reader'
  /** More resets, pings, settings or pipelined requests than anybody needs. */
  | 'flood'
  /** The server has as many connections as it takes. */
  | 'connections'

export interface HttpLimits {
  /** Further connections are closed at once. */
  readonly connectionsMax: number
  /**
   * Requests that are open at the same time on one connection of HTTP/2; further ones are refused and may be
   * tried again.
   */
  readonly streamsMax: number
  /**
   * Requests that a client of HTTP/1.1 has sent without waiting for answers; one more ends its connection.
   */
  readonly pipelinedMax: number
  readonly headerBytesMax: number
  readonly headersMax: number
  /** For the handshake, and again for the headers of the first request. */
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  /** A connection without a request is closed after it. */
  readonly idleTimeoutMs: number
  /** An answer of which nothing was read for so long is cut off. */
  readonly stallTimeoutMs: number
  /** Answers given up by the client: so many at once, then so many a second. More end the connection. */
  readonly resetsBurst: number
  readonly resetsPerSecond: number
  /** PING and SETTINGS frames likewise. */
  readonly controlFramesBurst: number
  readonly controlFramesPerSecond: number
}

/** Where Kubernetes has a figure it is the same one, but for headers, which nobody needs a megabyte of. */
export const defaultHttpLimits: HttpLimits = {
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
