/**
 * gRPC client channels: etcd, container runtimes, device plugins, KMS plugins. Messages are bytes here;
 * `base/protobuf.ts` describes their content. A channel has several equivalent targets. Calls go to one of
 * them until it fails, then to the next; a failed call is not retried, since only the caller knows whether it
 * is idempotent.
 */
export interface GrpcChannel extends AsyncDisposable {
  /** A unary call. `method` is the full name, `/etcdserverpb.KV/Range`. Rejects with GrpcError. */
  unary(method: string, request: Uint8Array, options?: GrpcCallOptions): Promise<Uint8Array>
  /** A bidirectional stream. */
  stream(method: string, options?: GrpcCallOptions): GrpcStream
}

/**
 * Messages of the server until it ends the call; iterated once. Throws GrpcError when the call fails. A slow
 * reader slows the server down through HTTP/2 flow control. Ending the iteration early cancels the call.
 */
export interface GrpcStream extends AsyncIterable<Uint8Array> {
  /**
   * Resolves when the next message may be sent, and also when the call has failed: the iteration throws the
   * error.
   */
  send(message: Uint8Array): Promise<void>
  /** Half-closes the call: no more messages are sent, the server may continue. */
  end(): void
  /** Cancels the call: the iteration throws GrpcError `cancelled`. */
  cancel(): void
  /** Cancels the call because the target does not work; later calls go to another target. */
  abandonTarget(): void
}

export interface GrpcCallOptions {
  /**
   * Deadline of the whole call, including connecting; exceeding it fails with `deadline-exceeded`. Unlimited
   * when absent.
   */
  readonly timeoutMs?: number
  /** Aborting cancels the call, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Lower-case names; binary metadata (`-bin`) is not supported. */
  readonly metadata?: Readonly<Record<string, string>>
}

/** Creates a channel, which connects on the first call. */
export type GrpcConnect = (options: GrpcChannelOptions) => GrpcChannel

export interface GrpcChannelOptions {
  /** `host:port`, or `unix:` and a socket path. */
  readonly targets: readonly string[]
  /** Plaintext when absent. */
  readonly tls?: GrpcTls
  /** Pings an idle target while calls are open and disconnects it if it does not answer. */
  readonly keepalive?: { readonly intervalMs: number; readonly timeoutMs: number }
  /** Timeout for connecting before the next target is tried. */
  readonly connectTimeoutMs?: number
  /** Maximum size of a received message; a larger one fails with `resource-exhausted`. */
  readonly receivedBytesMax?: number
}

/** PEM. */
export interface GrpcTls {
  /** CA certificates that verify the server; the system's when absent. */
  readonly ca?: Uint8Array | string
  readonly cert?: Uint8Array | string
  readonly key?: Uint8Array | string
  /** With these files, connections that are made after they have changed use the new content. */
  readonly files?: GrpcTlsFiles
  /** Expected name in the server's certificate, if it differs from the host of the target. */
  readonly serverName?: string
}

/** Paths of the files with `ca`, `cert` and `key`. */
export interface GrpcTlsFiles {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

/** gRPC status codes by number, from 0. */
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
  /** The status message of the server. */
  readonly details: string
  /** False if the request cannot have reached a server, so that a retry is safe. */
  readonly sent: boolean
  constructor(code: GrpcCode, details: string, options: ErrorOptions & { readonly sent: boolean }) {
    super(`${code}: ${details}`, options)
    this.name = 'GrpcError'
    this.code = code
    this.details = details
    this.sent = options.sent
  }
}
