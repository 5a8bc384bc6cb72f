/**
 * A request to the API and the answer, whatever brings them: HTTP outside, a direct call inside the process.
 * Clients and the API server share these types and nothing else. Values stay values until somebody needs
 * bytes.
 */
export interface ApiRequest {
  readonly method: string
  /** Without the query, still encoded as in the URL. */
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** What `headers` joins: a header that was sent several times. Without it each was sent once. */
  readonly headerValues?: (name: string) => readonly string[]
  readonly body: RequestBody
  /** Aborted when the client is gone or the server stops. */
  readonly signal: AbortSignal
  /** Who is at the other end of the connection, as far as the transport knows. */
  readonly peer: Peer
}

export interface RequestBody {
  /**
   * Rejects with ApiError 413 when there are more bytes than the limit, and 400 when the client stopped
   * sending.
   */
  bytes(limitBytes: number): Promise<Uint8Array>
  /** A caller in the same process hands over the object itself. It is immutable from then on. */
  readonly value?: unknown
}

export interface Peer {
  readonly address: string
  /** The subject of a client certificate that the server's authorities have signed. */
  readonly certificate?: PeerCertificate
  /** Why the certificate that the client has sent is none to trust, if it has sent one. */
  readonly certificateError?: string
  /** A component of our own in the same process: the identity it was given. */
  readonly user?: UserInfo
}

export interface PeerCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** DER: the certificate, then those that lead to its authority, as far as they are known. */
  readonly chain?: readonly Uint8Array[]
}

export interface UserInfo {
  readonly username: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

export interface ApiResponse {
  readonly status: number
  /** Names in lower case; `content-type` comes from the body. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: ResponseBody
}

export type ResponseBody = ValueBody | StreamBody

export interface ValueBody {
  readonly type: 'value'
  readonly mediaType: string
  /** What a caller in the same process gets. */
  readonly value: unknown
  /** The same in the media type. Pieces are sent one after the other; they are shared, never written to. */
  bytes(): readonly Uint8Array[]
}

export interface StreamBody {
  readonly type: 'stream'
  readonly mediaType: string
  /** Ends when the stream is over. Reading slowly is the reader's right, within the source's bound. */
  readonly chunks: AsyncIterable<readonly StreamChunk[]>
}

export interface StreamChunk {
  readonly value: unknown
  bytes(): Uint8Array
}
