/**
 * A request to the API and the answer, whatever brings them: HTTP outside, a direct call inside the process.
 * Clients and the API server share these types and nothing else. Values stay values until somebody needs
 * bytes.
 */
import type { Duplex } from 'node:stream'

export interface ApiRequest {
  readonly method: string
  /** Without the query, still encoded as in the URL. */
  readonly path: string
  readonly query: URLSearchParams
  /** The query as it was sent, without its question mark, where there are bytes. */
  readonly search?: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** What `headers` joins: a header that was sent several times. Without it each was sent once. */
  readonly headerValues?: (name: string) => readonly string[]
  readonly body: RequestBody
  /** Aborted when the client is gone or the server stops. */
  readonly signal: AbortSignal
  /** Who is at the other end of the connection, as far as the transport knows. */
  readonly peer: Peer
  /** The client wants to speak another protocol, and its connection can be handed over for that. */
  readonly isUpgrade?: boolean
}

export interface RequestBody {
  /**
   * Rejects with ApiError 413 when there are more bytes than the limit, and 400 when the client stopped
   * sending.
   */
  bytes(limitBytes: number): Promise<Uint8Array>
  /**
   * The same piece by piece, as it is sent, instead of the whole: for those who pass it on. Absent when it is there as
   * a whole anyway. Throws as `bytes` rejects.
   */
  chunks?(): AsyncIterable<Uint8Array>
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

export type ResponseBody = ValueBody | StreamBody | UpgradeBody

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
  /** Empty when nobody knows. */
  readonly mediaType: string
  /** Ends when the stream is over. Reading slowly is the reader's right, within the source's bound. */
  readonly chunks: AsyncIterable<readonly StreamChunk[]>
  /** For how long the reader may not read at all; as long as everybody when absent. */
  readonly stallMsMax?: number
}

export interface StreamChunk {
  readonly value: unknown
  bytes(): Uint8Array
}

/** The answer to a request that `isUpgrade`: the server speaks the protocol that its headers name from here on. */
export interface UpgradeBody {
  readonly type: 'upgrade'
  readonly mediaType: ''
  /** Called once, after the headers were sent: works on the connection until it is over, closes it, never rejects. */
  serve(client: UpgradedConnection): Promise<void>
  /** Called instead when the client is gone. */
  discard(): void
}

export interface UpgradedConnection {
  readonly connection: Duplex
  /** What the client has sent already. */
  readonly head: Uint8Array
  /** Aborted when the server stops. */
  readonly signal: AbortSignal
}
