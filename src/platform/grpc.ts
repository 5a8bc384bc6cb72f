/**
 * Calls to gRPC servers: etcd, container runtimes, device plugins, key services. Messages are bytes here;
 * what is in them is described with `base/protobuf.ts`. A channel knows several targets that serve the same
 * thing. Calls go to one of them until it fails, then to the next; a call that failed is not repeated, since
 * only the caller knows whether it may be.
 */
export interface GrpcChannel extends AsyncDisposable {
  /**
   * One message there and one back. `method` is the full name, `/etcdserverpb.KV/Range`. Rejects with
   * GrpcError.
   */
  unary(method: string, request: Uint8Array, options?: GrpcCallOptions): Promise<Uint8Array>
  /** Any number of messages in both directions. */
  stream(method: string, options?: GrpcCallOptions): GrpcStream
}

/**
 * Iterate it once: the messages of the server, until it ends the call. Throws GrpcError when the call fails.
 * A slow reader slows the server down, by the flow control of HTTP/2. Ending the iteration early cancels the
 * call.
 */
export interface GrpcStream extends AsyncIterable<Uint8Array> {
  /** Resolves when the next message may be sent; when the call has failed too, since reading tells why. */
  send(message: Uint8Array): Promise<void>
  /** No more messages will be sent; the server may go on. */
  end(): void
  /** Gives the call up: iteration throws GrpcError `cancelled`. */
  cancel(): void
  /** Gives the call up because the target does not do its work: later calls go to another. */
  abandonTarget(): void
}

export interface GrpcCallOptions {
  /**
   * The whole call, connecting included, fails with `deadline-exceeded` after this time. No bound when
   * absent.
   */
  readonly timeoutMs?: number
  /** Aborting cancels the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Names are lower case; those that end with `-bin` are not supported. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Makes a channel. Nothing is connected before the first call. */
export type GrpcConnect = (options: GrpcChannelOptions) => GrpcChannel

export interface GrpcChannelOptions {
  /** `host:port`, or `unix:` and the path of a socket. */
  readonly targets: readonly string[]
  /** Plain text when absent. */
  readonly tls?: GrpcTls
  /** Asks a silent target for a sign of life while calls are open; one that gives none is disconnected. */
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number }
  /** How long to wait for a connection before the next target is tried. */
  readonly connectTimeoutMs?: number
  /** Larger messages fail with `resource-exhausted`. */
  readonly receivedBytesMax?: number
}

/** PEM. */
export interface GrpcTls {
  /** Who must have signed the server's certificate; the system's authorities when absent. */
  readonly ca?: Uint8Array | string
  readonly cert?: Uint8Array | string
  readonly key?: Uint8Array | string
  /** The name in the server's certificate, when it is not the host of the target. */
  readonly serverName?: string
}

/** The status codes of gRPC in the order of their numbers, from 0. */
export const grpcCodes = [
  'ok',
  'cancelled',
  'unknown',
  'invalid-argument',
  'deadline-exceeded',
  'not-found',
  'already-exists',
  'permission-denied',
  'resource-exhausted',
  'failed-precondition',
  'aborted',
  'out-of-range',
  'unimplemented',
  'internal',
  'unavailable',
  'data-loss',
  'unauthenticated',
] as const

export type GrpcCode = (typeof grpcCodes)[number]

export class GrpcError extends Error {
  readonly code: GrpcCode
  /** What the server said. */
  readonly details: string
  /** False when no server can have seen the request: doing it again does it once. */
  readonly sent: boolean
  constructor(code: GrpcCode, details: string, options: ErrorOptions & { readonly sent: boolean }) {
    super(`${code}: ${details}`, options)
    this.name = 'GrpcError'
    this.code = code
    this.details = details
    this.sent = options.sent
  }
}
