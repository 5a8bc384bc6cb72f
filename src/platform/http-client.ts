/**
 * Requests to one HTTP server: HTTP/2 where the server speaks it, HTTP/1.1 elsewhere, with TLS for an `https`
 * origin. A client keeps its connections and shares them between requests. Bodies of answers come as they are
 * read: a slow reader slows the server down and nothing piles up here. There is no proxy, no redirect, no
 * cookie and no retry but where the server cannot have seen the request.
 */
export interface HttpClient extends AsyncDisposable {
  /**
   * Resolves with the head of the answer. Rejects with HttpClientError, or with the reason of an aborted
   * signal.
   */
  request(request: HttpClientRequest): Promise<HttpClientResponse>
  /**
   * No more requests will come: what is under way is finished, then the connections close. Disposing cuts
   * them off.
   */
  close(): void
}

export interface HttpClientRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  /** Names in lower case. `host` says which server is meant where that is not the origin's. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Uint8Array
  /** Aborting gives up the request, or the answer while it is read: both fail with the signal's reason. */
  readonly signal?: AbortSignal
}

export interface HttpClientResponse {
  readonly status: number
  /** Names in lower case. What was compressed is decompressed, and says nothing of it any more. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Iterate it once, or discard the response. Ending the iteration early gives the rest of the answer up. */
  readonly body: AsyncIterable<Uint8Array>
  /** Gives up an answer that nobody will read. */
  discard(): void
}

/** Makes a client. Nothing is connected before the first request. */
export type HttpConnect = (options: HttpClientOptions) => HttpClient

export interface HttpClientOptions {
  /** `https://host:port` or `http://host:port`. */
  readonly origin: string
  readonly tls?: HttpClientTls
  readonly connectTimeoutMs?: number
  /**
   * Asks a silent HTTP/2 server for a sign of life while answers are awaited; one that gives none is
   * disconnected.
   */
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number }
}

/** PEM. */
export interface HttpClientTls {
  /** Who must have signed the server's certificate; the system's authorities when absent. */
  readonly ca?: Uint8Array | string
  readonly cert?: Uint8Array | string
  readonly key?: Uint8Array | string
  /** The name in the server's certificate, when it is not the host of the origin. */
  readonly serverName?: string
  /** Takes any certificate for the server's. */
  readonly insecureSkipVerify?: boolean
}

export type HttpClientErrorReason =
  /** No connection could be made. */
  | 'unreachable'
  /** The connection or the stream broke, before the answer or in the middle of it. */
  | 'interrupted'
  /** The server answered something that is not HTTP, or bytes that do not decompress. */
  | 'garbage'

export class HttpClientError extends Error {
  readonly reason: HttpClientErrorReason
  /** False when no server can have seen the request: doing it again does it once. */
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
