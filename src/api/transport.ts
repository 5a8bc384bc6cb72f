/**
 * Requests and responses of the API, independent of the transport: HTTP or a direct call within the process.
 * Clients and the API server share only these types. Values are serialized only when bytes are needed.
 */
import type { Duplex } from 'node:stream'

export interface ApiRequest {
  readonly method: string
  /** Without the query, still percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** The raw query without the question mark; absent for calls within the process. */
  readonly search?: string
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The separate values of a repeated header, which `headers` joins. If absent, no header was repeated. */
  readonly headerValues?: (name: string) => readonly string[]
  readonly body: RequestBody
  /** Aborted when the client disconnects or the server stops. */
  readonly signal: AbortSignal
  /** As `signal.aborted`, without creating the signal; absent if the request has a signal anyway. */
  readonly isAborted?: boolean
  /** Names of `headers`, which are costly to list; absent if they have to be. */
  readonly headerNames?: readonly string[]
  /** The peer of the connection, as known to the transport. */
  readonly peer: Peer
  /** The client requests a protocol upgrade, and the connection can be handed over. */
  readonly isUpgrade?: boolean
}

export interface RequestBody {
  /** Rejects with ApiError 413 if the limit is exceeded, and 400 if the client stopped sending. */
  bytes(limitBytes: number): Promise<Uint8Array>
  /**
   * The body as a stream of chunks, for proxying. Absent if the body is already complete. Throws like
   * `bytes`.
   */
  chunks?(): AsyncIterable<Uint8Array>
  /** The object itself, passed by a caller within the process. It must not be modified afterwards. */
  readonly value?: unknown
}

export interface Peer {
  readonly address: string
  /** Subject of a client certificate signed by one of the server's CAs. */
  readonly certificate?: PeerCertificate
  /** The reason that the client certificate was not accepted, if one was sent. */
  readonly certificateError?: string
  /** Identity of a component within the process. */
  readonly user?: UserInfo
  /** Called when a request of the connection is authenticated as another user than `system:anonymous`. */
  readonly onAuthenticated?: () => void
}

export interface PeerCertificate {
  readonly commonName: string
  readonly organizations: readonly string[]
  /** DER: the leaf certificate, then the known intermediates. */
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
  /** Lower-case names; `content-type` comes from the body. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: ResponseBody
}

export type ResponseBody = ValueBody | StreamBody | UpgradeBody

export interface ValueBody {
  readonly type: 'value'
  readonly mediaType: string
  /** The value returned to a caller within the process. */
  readonly value: unknown
  /**
   * The value encoded in the media type. Chunks are sent in order; they are shared and must not be modified.
   */
  bytes(): readonly Uint8Array[]
  /** Present for a large value: the same bytes, encoded in time slices, each batch when it is needed. */
  readonly batches?: (() => AsyncIterable<PieceBatch>) | undefined
  /** The same compressed; undefined if the compressed bytes are not shared with other responses. */
  readonly gzip?: (() => Promise<GzipBody | undefined>) | undefined
}

export interface GzipBody {
  readonly pieces: readonly Uint8Array[]
  /** Of the uncompressed body. */
  readonly sizeBytes: number
}

/** Consecutive pieces of an encoded value, which are to be sent at once. */
export interface PieceBatch {
  readonly pieces: readonly Piece[]
  readonly sizeBytes: number
}

/** Bytes, or a short ASCII text. */
export type Piece = Uint8Array | string

export interface StreamBody {
  readonly type: 'stream'
  /** Empty if unknown. */
  readonly mediaType: string
  /** True for the response of another server: the chunks are its bytes, which are not decoded. */
  readonly isForwarded?: boolean
  /** Ends with the stream. A slow reader is tolerated up to the source's limit. */
  readonly chunks: AsyncIterable<readonly StreamChunk[]>
  /** Maximum time that a reader may stall; the default applies if absent. */
  readonly stallMsMax?: number
  /** Called with the size of each chunk that is sent to a client. */
  readonly onSent?: (sizeBytes: number) => void
}

export interface StreamChunk {
  readonly value: unknown
  bytes(): Uint8Array
}

/**
 * The response to a request with `isUpgrade`: from here on the server speaks the protocol named in its
 * headers.
 */
export interface UpgradeBody {
  readonly type: 'upgrade'
  readonly mediaType: ''
  /**
   * Called once, after the headers have been sent. Serves the connection until it ends, closes it, and never
   * rejects.
   */
  serve(client: UpgradedConnection): Promise<void>
  /** Called instead of `serve` if the client has disconnected. */
  discard(): void
}

export interface UpgradedConnection {
  readonly connection: Duplex
  /** Bytes already received from the client. */
  readonly head: Uint8Array
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
}
