/**
 * The connection of a client to an API server: over HTTP (`http.ts`), or by a direct call in the same process
 * (`in-process.ts`). A transport sends one request without interpreting it; retries, API errors and types are
 * the client's.
 */
export interface Transport {
  /**
   * Resolves with the response headers, whatever the status. Rejects with TransportError. Aborting the
   * request's signal rejects it, and any pending read of the body, at once with the signal's reason.
   */
  request(request: TransportRequest): Promise<TransportResponse>
}

export interface TransportRequest {
  readonly method: string
  /** Without the query, percent-encoded. */
  readonly path: string
  readonly query: URLSearchParams
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: TransportBody
  readonly signal: AbortSignal
}

/**
 * A value is JSON. It is passed by reference where no bytes are needed, so it must not be modified
 * afterwards.
 */
export type TransportBody =
  | { readonly mediaType: string; readonly value: unknown }
  | { readonly mediaType: string; readonly bytes: Uint8Array }

/** The body is consumed once, in one of three ways, or discarded. */
export interface TransportResponse {
  readonly status: number
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The parsed body; undefined when it is empty. */
  value(): Promise<unknown>
  /** The watch events, in batches as they arrive. */
  events(): AsyncIterable<readonly unknown[]>
  bytes(): AsyncIterable<Uint8Array>
  /** Releases an unread body. */
  discard(): void
}

export type TransportErrorReason =
  /** No connection could be made. */
  | 'unreachable'
  /** The connection broke before or during the response. */
  | 'interrupted'
  /** No response headers within the client's timeout. */
  | 'timeout'
  /** No data for too long after the response headers. */
  | 'stalled'
  /** The response is not valid for the API. */
  | 'invalid-response'
  /** The response exceeds the client's limit. */
  | 'too-large'

/** A failure of the connection or the response; errors of the API itself are ApiError. Match on `reason`. */
export class TransportError extends Error {
  readonly reason: TransportErrorReason
  /** False when no server can have received the request, so that it is safe to retry. */
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
