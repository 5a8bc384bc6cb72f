/**
 * An HTTP client for one server: HTTP/2 if the server supports it, otherwise HTTP/1.1, with TLS for an
 * `https` origin. Connections are kept alive and shared between requests. Response bodies are streamed with
 * backpressure. There are no redirects or cookies, and no retries except where the server cannot have seen the
 * request.
 */
import type { Duplex } from 'node:stream'

export interface HttpClient extends AsyncDisposable {
  /**
   * Resolves with the response head. Rejects with HttpClientError, or with the reason of an aborted signal.
   */
  request(request: HttpClientRequest): Promise<HttpClientResponse>
  /**
   * Requests a protocol upgrade, to the protocol of the `upgrade` header, over HTTP/1.1 on a dedicated
   * connection. After the upgrade the connection belongs to the caller: neither `signal` nor the client
   * closes it.
   */
  upgrade(request: HttpUpgradeRequest): Promise<HttpUpgrade>
  /**
   * Accepts no more requests and closes the connections after the pending requests have completed. Disposing
   * aborts them.
   */
  close(): void
}

export interface HttpClientRequest {
  readonly method: string
  /** Including the query. */
  readonly path: string
  /** Lower-case names. `host` overrides the origin's host. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /**
   * An iterable is streamed with backpressure. It is iterated at most once, so such a request is never
   * retried.
   */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>
  /** Aborting cancels the request or the response body; both fail with the signal's reason. */
  readonly signal?: AbortSignal
  /** Leaves a compressed body compressed, for proxying. */
  readonly keepContentEncoding?: boolean
}

export interface HttpClientResponse {
  readonly status: number
  /** Lower-case names. `content-encoding` is absent if the body has been decompressed. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The `set-cookie` headers, one by one, since they cannot be split after joining. */
  readonly setCookies?: readonly string[]
  /** Must be iterated once or discarded. Ending the iteration early cancels the rest of the response. */
  readonly body: AsyncIterable<Uint8Array>
  /** Cancels the body without reading it. */
  discard(): void
}

/** The `upgrade` header names the protocol; `connection: upgrade` is added. */
export type HttpUpgradeRequest = Omit<HttpClientRequest, 'body'>

export type HttpUpgrade = HttpUpgraded | HttpUpgradeRefused

export interface HttpUpgraded {
  readonly type: 'upgraded'
  /** Always 101. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly connection: Duplex
  /** Bytes already received in the new protocol. */
  readonly head: Uint8Array
}

/** The server answered with an ordinary response. The connection closes after it. */
export interface HttpUpgradeRefused {
  readonly type: 'refused'
  readonly response: HttpClientResponse
}

/** Creates a client, which connects on the first request. */
export type HttpConnect = (options: HttpClientOptions) => HttpClient

export interface HttpClientOptions {
  /** `https://host:port` or `http://host:port`. */
  readonly origin: string
  readonly tls?: HttpClientTls
  readonly connectTimeoutMs?: number
  /**
   * HTTP/1.1 only: each request has its own connection, so that a slow reader does not delay other requests.
   */
  readonly protocol?: 'http1'
  /** Pings an idle HTTP/2 server while responses are pending and disconnects it if it does not answer. */
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number }
  /**
   * `http://`, `https://` or `socks5://host:port`, with an optional `user:password@`. All connections are tunneled
   * through this proxy, those of an `http` origin too.
   */
  readonly proxy?: string
}

/** PEM. */
export interface HttpClientTls {
  /** CA certificates that verify the server; the system's when absent. */
  readonly ca?: Uint8Array | string
  readonly cert?: Uint8Array | string
  readonly key?: Uint8Array | string
  /** Expected name in the server's certificate, if it differs from the host of the origin. */
  readonly serverName?: string
  /** Accepts any server certificate. */
  readonly insecureSkipVerify?: boolean
}

/** Reads a whole request body, for fake servers. */
export async function readWholeBody(body: HttpClientRequest['body']): Promise<Uint8Array> {
  if (body === undefined) return new Uint8Array()
  if (body instanceof Uint8Array) return body
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
}

export type HttpClientErrorReason =
  /** Connecting failed. */
  | 'unreachable'
  /** The connection or stream broke before or during the response. */
  | 'interrupted'
  /** The response is not valid HTTP or does not decompress. */
  | 'invalid-response'

export class HttpClientError extends Error {
  readonly reason: HttpClientErrorReason
  /** False if the request cannot have reached a server, so that a retry is safe. */
  readonly sent: boolean

  constructor(
    reason: HttpClientErrorReason,
    message: string,
    options: ErrorOptions & { readonly sent: boolean },
  ) {
    super(message, options)
    this.name = 'HttpClientError'
    this.reason = reason
    this.sent = options.sent
  }
}
