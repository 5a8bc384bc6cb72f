/**
 * How a client reaches an API server: by HTTP (`http.ts`), or by a direct call in the same process
 * (`in-process.ts`). A transport carries one request and does not know what it means; retries, errors of the
 * API and types are the client's.
 */
export interface Transport {
  /**
   * Resolves with the head of the answer, whatever its status. Rejects with TransportError. Aborting the
   * request's signal rejects it, and whatever reads the answer, at once and with the signal's reason.
   */
  request(request: TransportRequest): Promise<TransportResponse>
}

export interface TransportRequest {
  readonly method: string
  /** Without the query, encoded as in a URL. */
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: TransportBody
  readonly signal: AbortSignal
}

/** A value is JSON. It is handed over as it is where no bytes are needed, and must not change any more. */
export type TransportBody =
  | { readonly mediaType: string; readonly value: unknown }
  | { readonly mediaType: string; readonly bytes: Uint8Array }

/** The body is read in one of three ways, once, or discarded. */
export interface TransportResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The whole body as a value; undefined when it is empty. */
  value(): Promise<unknown>
  /** The events of a watch, as many at a time as have come. */
  events(): AsyncIterable<readonly unknown[]>
  bytes(): AsyncIterable<Uint8Array>
  /** Gives up a body that nobody will read. */
  discard(): void
}

export type TransportErrorReason =
  /** No connection could be made. */
  | 'unreachable'
  /** The connection broke, before the answer or in the middle of it. */
  | 'interrupted'
  /** No answer within the time the client allows. */
  | 'timeout'
  /** An answer has begun, and nothing more came of it for too long. */
  | 'stalled'
  /** The answer is not what the API says. */
  | 'garbage'
  /** The answer is larger than the client takes. */
  | 'too-large'

/**
 * Something between us and the API went wrong; what the API itself says is an ApiError. Match on `reason`.
 */
export class TransportError extends Error {
  readonly reason: TransportErrorReason
  /** False when no server can have seen the request: doing it again does it once. */
  readonly sent: boolean

  constructor(
    reason: TransportErrorReason,
    message: string,
    options: ErrorOptions & { readonly sent?: boolean } = {},
  ) {
    super(message, options)
    this.name = 'TransportError'
    this.reason = reason
    this.sent = options.sent ?? true
  }
}
