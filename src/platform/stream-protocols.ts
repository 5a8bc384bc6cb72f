/**
 * TLS and HTTP/2 on connections that exist already, for the reverse proxy. `ServeHttp` and `HttpClient` are
 * for programs that answer or make requests; a proxy decides about every connection and stream itself.
 */
import type { Duplex } from 'node:stream'

export interface StreamProtocols {
  acceptTls(options: TlsAcceptorOptions): TlsAcceptor
  /** Resolves after the handshake; rejects when the certificate is not valid for `serverName`. */
  connectTls(connection: Duplex, options: TlsConnectOptions): Promise<NegotiatedConnection>
  /** Serves HTTP/2 on a connection of a client. */
  serveHttp2(connection: Duplex, options: Http2ServerOptions): Http2ServerSession
  /** Speaks HTTP/2 to a backend. */
  connectHttp2(connection: Duplex, options: Http2ClientOptions): Http2ClientSession
}

/** TLS has been established. */
export interface NegotiatedConnection {
  readonly connection: Duplex
  /** Chosen by ALPN. */
  readonly protocol: 'http/1.1' | 'h2'
}

export interface TlsCertificate {
  /** Lower case; `*.example.com` matches one label. Empty: for all names without a certificate. */
  readonly hostnames: readonly string[]
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface TlsAcceptorOptions {
  readonly handshakeTimeoutMs: number
  readonly onConnection: (connection: NegotiatedConnection, tcp: Duplex) => void
  /** The connection has been destroyed. */
  readonly onFailure: (tcp: Duplex) => void
}

export interface TlsAcceptor {
  /** Applies to handshakes from now on. Certificates that cannot be used are left out. */
  setCertificates(certificates: readonly TlsCertificate[]): readonly CheckedCertificate[]
  accept(connection: Duplex): void
}

export interface CheckedCertificate {
  readonly certificate: TlsCertificate
  /** End of its validity. */
  readonly expiresMs?: number
  /** It cannot be used, for example because the key does not match. */
  readonly error?: string
}

export interface TlsConnectOptions {
  /** In SNI, and required of the certificate. */
  readonly serverName: string | undefined
  /** PEM. Undefined: the certificate of the server is not verified. */
  readonly ca: string | undefined
  readonly protocols: readonly ('http/1.1' | 'h2')[]
}

export interface Http2ServerOptions {
  readonly streamsMax: number
  readonly headerBytesMax: number
  readonly resetsBurst: number
  readonly resetsPerSecond: number
  readonly controlFramesBurst: number
  readonly controlFramesPerSecond: number
  /** `fields` are alternating names and values, pseudo-headers included. Must not throw. */
  readonly onStream: (stream: Http2Stream, fields: readonly string[], isEnded: boolean) => void
  readonly onClose: () => void
}

export interface Http2ServerSession {
  /** Announces the end of the connection (GOAWAY); open streams finish. */
  close(): void
  destroy(): void
}

export interface Http2ClientOptions {
  readonly onClose: () => void
}

export interface Http2ClientSession {
  /** Streams that the server allows at the same time. */
  readonly streamsMax: number
  readonly isClosed: boolean
  /** Throws when the session is closed, or when Node does not send one of the fields. */
  request(fields: readonly string[], isEnded: boolean): Http2Stream
  close(): void
  destroy(): void
}

/** Calls arrive in the order of this list; `onClose` always and last. */
export interface Http2StreamEvents {
  /** Backends only: status 1xx, then the head of the response. */
  readonly onHead?: (fields: readonly string[]) => void
  readonly onData: (bytes: Uint8Array) => void
  /** The peer has sent everything. */
  readonly onEnd: (trailers: readonly string[]) => void
  readonly onDrain: () => void
  /** `isRefused`: the peer has not processed the request. */
  readonly onClose: (close: { readonly code: number; readonly isRefused: boolean }) => void
}

export interface Http2Stream {
  listen(events: Http2StreamEvents): void
  /** Servers only. Alternating names and values, beginning with `:status`. */
  respond(fields: readonly string[], isEnded: boolean): void
  inform(fields: readonly string[]): void
  /** Returns false when the send buffer is full; `onDrain` follows. */
  write(bytes: Uint8Array): boolean
  end(trailers: readonly string[]): void
  pause(): void
  resume(): void
  /** RST_STREAM. */
  reset(code: number): void
}

/** RFC 9113, section 7. */
export const http2Errors = { none: 0, protocol: 1, internal: 2, refusedStream: 7, cancel: 8 } as const
