/**
 * Requests to one HTTP server: HTTP/2 where the server speaks it, HTTP/1.1 elsewhere, with TLS for an `https`
 * origin. A client keeps its connections and shares them between requests. Bodies of answers come as they are
 * read: a slow reader slows the server down and nothing piles up here. There is no proxy, no redirect, no
 * cookie and no retry but where the server cannot have seen the request.
 */
import type { Duplex } from 'node:stream'

export interface HttpClient extends AsyncDisposable {
  /**
   * Resolves with the head of the answer. Rejects with HttpClientError, or with the reason of an aborted
   * signal.
   */
  request(request: HttpClientRequest): Promise<HttpClientResponse>
  /**
   * Asks the server to speak the protocol that the header `upgrade` names, over HTTP/1.1 on a connection of
   * its own. Once upgraded the connection belongs to the caller: neither `signal` nor the client ends it.
   */
  upgrade(request: HttpUpgradeRequest): Promise<HttpUpgrade>
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
  /**
   * What comes in pieces is sent as it comes, and read no faster than the server takes it. It is iterated once
   * at most: such a request is never tried again.
   */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>
  /** Aborting gives up the request, or the answer while it is read: both fail with the signal's reason. */
  readonly signal?: AbortSignal
  /** Leaves what is compressed as it is, for those who pass it on. */
  readonly keepsEncoding?: boolean
}

export interface HttpClientResponse {
  readonly status: number
  /** Names in lower case. What was compressed is decompressed, and says nothing of it any more. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Each of the headers of this name by itself: they cannot be told apart once they are joined. */
  readonly setCookies?: readonly string[]
  /** Iterate it once, or discard the response. Ending the iteration early gives the rest of the answer up. */
  readonly body: AsyncIterable<Uint8Array>
  /** Gives up an answer that nobody will read. */
  discard(): void
}

/** Headers name the protocol in `upgrade`; `connection: upgrade` is added. */
export type HttpUpgradeRequest = Omit<HttpClientRequest, 'body'>

export type HttpUpgrade = HttpUpgraded | HttpUpgradeRefused

export interface HttpUpgraded {
  readonly type: 'upgraded'
  /** 101. */
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly connection: Duplex
  /** What the server has sent in the new protocol already. */
  readonly head: Uint8Array
}

/** The server answered as if it was an ordinary request. The connection ends with the answer. */
export interface HttpUpgradeRefused {
  readonly type: 'refused'
  readonly response: HttpClientResponse
}

/** Makes a client. Nothing is connected before the first request. */
export type HttpConnect = (options: HttpClientOptions) => HttpClient

export interface HttpClientOptions {
  /** `https://host:port` or `http://host:port`. */
  readonly origin: string
  readonly tls?: HttpClientTls
  readonly connectTimeoutMs?: number
  /** Speaks nothing newer: each request has a connection to itself, and a slow reader slows down nobody else. */
  readonly protocol?: 'http1'
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

/** A body whole, for those who stand in for a server. */
export async function wholeBody(body: HttpClientRequest['body']): Promise<Uint8Array> {
  if (body === undefined) return new Uint8Array()
  if (body instanceof Uint8Array) return body
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces)
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
